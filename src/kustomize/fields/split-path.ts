/** Splits at a delimiter that is not escaped by a backslash; a leading delimiter is ignored. */
export function splitPath(path: string, delimiter: '/' | '.'): string[] {
  const parts = path.split(delimiter)
  if (parts.length > 1 && parts[0] === '') parts.shift()
  const [first = '', ...others] = parts
  const result = [first]
  for (const part of others) {
    const last = result.at(-1) ?? ''
    if (last.endsWith('\\')) result[result.length - 1] = last.slice(0, -1) + delimiter + part
    else result.push(part)
  }
  return result
}

/**
 * Splits at dots, except within brackets: `[name=a.b]` selects an item and keeps its brackets, `[a.b/c]` is a key
 * and loses them.
 */
export function splitFieldPath(path: string): string[] {
  const result: string[] = []
  const parts = splitPath(path, '.')
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at] ?? ''
    if (!part.startsWith('[') || part.endsWith(']')) {
      result.push(part)
      continue
    }
    const from = at
    while (at < parts.length - 1 && (at === from || !parts[at]?.endsWith(']'))) at++
    const bracketed = parts.slice(from, at + 1).join('.')
    result.push(bracketed.includes('=') ? bracketed : bracketed.replaceAll(/^[[\]]+|[[\]]+$/g, ''))
  }
  return result
}
