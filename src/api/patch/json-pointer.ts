/** JSON pointers (RFC 6901): `/spec/containers/0/image`, with `~1` for a slash and `~0` for a tilde. */

/** The reference tokens of a pointer, empty for the whole document; `undefined` if it is not a pointer. */
export function parsePointer(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/')) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
