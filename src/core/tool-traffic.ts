/** How a tool call and its result read as text, for writers and frameworks that know nothing of tools. */

/** `[tool call: name(arguments)]` */
export function renderToolCall(name: string, argumentsText: string): string {
  return `[tool call: ${name}(${argumentsText})]`;
}

/** `[tool result: name] body`; an answer to an unknown call has no name. */
export function renderToolResult(name: string | undefined, body: string): string {
  return `[tool result${name === undefined ? '' : `: ${name}`}] ${body}`;
}
