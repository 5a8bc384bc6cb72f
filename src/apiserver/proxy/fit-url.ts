/** Characters that are none of a path are encoded, whatever let them through. */
export function fitPath(path: string): string {
  return path.replaceAll(/[^\x21\x22\x24-\x3e\x40-\x7e]/g, encode)
}

/** The same of a query, which may have question marks. */
export function fitQuery(query: string): string {
  return query.replaceAll(/[^\x21\x22\x24-\x7e]/g, encode)
}

/** A character is a byte, or came from somewhere else than a connection. */
function encode(character: string): string {
  const bytes = Buffer.from(character, character > '\xff' ? 'utf8' : 'latin1')
  return [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}
