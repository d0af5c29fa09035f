/** JSON from outside, where a syntax error is an answer and not an exception. `undefined` is no JSON value. */

export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
