/**
 * Escapes JSON property names that are not identifiers or are reserved words: `metadata.__namespace__`,
 * `data.a__dot__b`.
 */

const reserved: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace ' +
    'return var void while'
  ).split(' '),
)
const escapes: ReadonlyMap<string, string> = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
])

/** Undefined if the property cannot be escaped. */
export function escapeName(property: string): string | undefined {
  if (reserved.has(property)) return `__${property}__`
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined
  return property.replaceAll(/__|[./-]/g, part => escapes.get(part) ?? part)
}
