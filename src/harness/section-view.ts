/** The documented view that all stages share: one task token, then sections under markers, one member a line. */
import type { ChatMessage } from '../core/chat.ts';
import { escapeSpecials, type MARKER_TOKENS } from '../core/special-tokens.ts';

type Marker = (typeof MARKER_TOKENS)[number];

/** Marker and members of one section; `<|` in a member becomes `< |`, so that no text can spell a marker. */
export type Section = readonly [marker: Marker, members: readonly string[]];

export function sectionView(task: Marker, sections: readonly Section[]): ChatMessage[] {
  const content = sections
    .map(([marker, members]) => `${marker}${escapeSpecials(members.join('\n'))}`)
    .join('');
  return [
    { role: 'system', content: task },
    { role: 'user', content },
  ];
}

/** `position text` each: positions stand for ids. */
export function numbered(texts: readonly string[]): string[] {
  return texts.map((text, position) => `${position} ${text}`);
}
