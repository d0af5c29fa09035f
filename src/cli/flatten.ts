/** A JSON value as `a.b = c` lines, in the spelling of `--set`. */
export function flatten(value: unknown, path: readonly string[] = []): [string, string][] {
  const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isBranch || Object.keys(value).length === 0)
    return [[path.join('.'), JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, [...path, key]));
}
