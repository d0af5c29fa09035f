/** What mem0ai 3.3.1 takes for the JSON of an answer: its order of attempts, so that `check` sees what the SDK sees. */

const END_TOKENS = /<\|(?:end_of_text|eot_id|im_end|im_start|endoftext)\|>/g;
const FENCE = /```(?:\w+)?\n?([\s\S]*?)(?:```|$)/g;
const THINK = /<think>[\s\S]*?<\/think>/g;

/** End tokens, code fences and thinking removed, wherever they stand: also inside a JSON string. */
export function cleanAnswer(answer: string): string {
  return answer.replace(END_TOKENS, '').replace(FENCE, '$1').trim().replace(THINK, '').trim();
}

/** The first balanced object that parses, else the widest span that does, the same for arrays, else the cleaned text. */
export function extractJson(answer: string): string {
  const text = cleanAnswer(answer);
  return (
    firstBalanced(text, '{', '}') ??
    widestSpan(text, '{', '}') ??
    firstBalanced(text, '[', ']') ??
    widestSpan(text, '[', ']') ??
    text
  );
}

function firstBalanced(text: string, open: string, close: string): string | undefined {
  for (let start = text.indexOf(open); start !== -1; start = text.indexOf(open, start + 1)) {
    const end = balancedEnd(text, start, open + close);
    if (end === undefined) continue;
    const candidate = text.slice(start, end);
    if (parses(candidate)) return candidate;
  }
  return undefined;
}

/** Index after the bracket that closes the one at `start`; brackets in strings do not count. */
function balancedEnd(text: string, start: number, brackets: string): number | undefined {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === '\\') i++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === brackets[0]) depth++;
    else if (character === brackets[1] && --depth === 0) return i + 1;
  }
  return undefined;
}

function widestSpan(text: string, open: string, close: string): string | undefined {
  const first = text.indexOf(open);
  const last = text.lastIndexOf(close);
  if (first === -1 || last <= first) return undefined;
  const candidate = text.slice(first, last + 1);
  return parses(candidate) ? candidate : undefined;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (cause) {
    if (cause instanceof SyntaxError) return false;
    throw cause;
  }
}
