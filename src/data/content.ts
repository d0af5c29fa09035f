/** Renders the content of a foreign chat message as plain text: text, image, audio, file and tool parts. */
import { z } from 'zod';
import { renderToolCall } from '../core/tool-traffic.ts';
import { type HygieneNote, isBlank, note } from './hygiene.ts';

export interface Rendered {
  readonly text: string;
  readonly notes: readonly HygieneNote[];
}

const caption = z.string().nullish();

/** Loose: what OpenAI's, Anthropic's and common logging formats put into a content list. */
const partSchema = z.looseObject({
  type: z.string().optional(),
  text: z.string().optional(),
  refusal: z.string().optional(),
  transcript: z.string().optional(),
  alt: caption,
  alt_text: caption,
  caption: caption,
  description: caption,
  image_url: z.union([z.string(), z.looseObject({ alt: caption, caption: caption })]).optional(),
  input_audio: z.looseObject({ transcript: z.string().optional() }).optional(),
  file: z.looseObject({ filename: z.string().optional() }).optional(),
  filename: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
  content: z.unknown().optional(),
});
type Part = z.infer<typeof partSchema>;

/** `null` and `undefined` render as blank text with a note; the caller decides whether the message is dropped. */
export function renderContent(content: unknown): Rendered {
  if (content === null || content === undefined) return { text: '', notes: [] };
  if (typeof content === 'string') return { text: content, notes: [] };
  if (Array.isArray(content)) return join(content.map(renderPart));
  if (typeof content === 'object') return renderPart(content);
  const text = String(content);
  return { text, notes: [note('non-string-content', text)] };
}

/** What is not text already becomes JSON; a call without arguments has an empty text. */
export function argumentsText(args: unknown): string {
  if (args === undefined) return '';
  return typeof args === 'string' ? args : JSON.stringify(args);
}

export function join(parts: readonly Rendered[]): Rendered {
  return {
    text: parts
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join('\n'),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

const RENDERERS: Readonly<Record<string, (part: Part) => Rendered | undefined>> = {
  text: plainText,
  input_text: plainText,
  output_text: plainText,
  refusal: ({ refusal }) => (refusal === undefined ? undefined : { text: refusal, notes: [] }),
  image_url: image,
  input_image: image,
  image,
  input_audio: audio,
  audio,
  file,
  input_file: file,
  tool_use: ({ name, input }) =>
    name === undefined
      ? undefined
      : { text: renderToolCall(name, argumentsText(input)), notes: [note('tool-call', name)] },
  tool_result: ({ content }) => {
    const { text, notes } = renderContent(content);
    return { text: `[tool result] ${text}`, notes: [note('tool-result', text), ...notes] };
  },
};

function renderPart(value: unknown): Rendered {
  if (typeof value === 'string') return { text: value, notes: [] };
  const parsed = partSchema.safeParse(value);
  if (!parsed.success) return unknownPart(typeOf(value));
  const type = parsed.data.type ?? (parsed.data.text === undefined ? '?' : 'text');
  const render = Object.hasOwn(RENDERERS, type) ? RENDERERS[type] : undefined;
  return render?.(parsed.data) ?? unknownPart(type);
}

function typeOf(value: unknown): string {
  const typed = z.looseObject({ type: z.string() }).safeParse(value);
  return typed.success ? typed.data.type : typeof value;
}

function unknownPart(type: string): Rendered {
  return { text: `[unsupported part: ${type}]`, notes: [note('unknown-part', type)] };
}

function plainText({ text }: Part): Rendered | undefined {
  return text === undefined ? undefined : { text, notes: [] };
}

function image(part: Part): Rendered {
  const nested = typeof part.image_url === 'object' ? part.image_url : undefined;
  const candidates = [part.alt, part.alt_text, part.caption, part.description];
  return renderImage([...candidates, nested?.alt, nested?.caption]);
}

/** Never the image's address or data: a writer cannot read either, and a data URL would fill the chunk. */
export function renderImage(captions: readonly (string | null | undefined)[]): Rendered {
  const shown = captions.find((text) => typeof text === 'string' && !isBlank(text));
  if (typeof shown !== 'string') {
    return { text: '[image]', notes: [note('image'), note('image-without-caption')] };
  }
  return { text: `[image: ${shown.trim()}]`, notes: [note('image', shown)] };
}

function audio(part: Part): Rendered | undefined {
  const transcript = part.transcript ?? part.input_audio?.transcript;
  return transcript === undefined ? undefined : { text: `[audio: ${transcript}]`, notes: [] };
}

function file(part: Part): Rendered | undefined {
  const name = part.filename ?? part.file?.filename;
  return name === undefined ? undefined : { text: `[file: ${name}]`, notes: [] };
}
