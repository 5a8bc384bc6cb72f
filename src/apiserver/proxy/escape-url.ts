/** Percent-encodes characters that are not allowed in a path. */
export function escapePath(path: string): string {
  return path.replaceAll(/[^\x21\x22\x24-\x3e\x40-\x7e]/g, encode)
}

/** Percent-encodes characters that are not allowed in a query. */
export function escapeQuery(query: string): string {
  return query.replaceAll(/[^\x21\x22\x24-\x7e]/g, encode)
}

/** Characters up to 0xff are raw bytes of the request; others are encoded as UTF-8. */
function encode(character: string): string {
  const bytes = Buffer.from(character, character > '\xff' ? 'utf8' : 'latin1')
  return [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}
