/**
 * Names of header fields, checked and classified once: a message has the same few names as the one before it,
 * and a look-up by the name as sent is much cheaper than to check and convert it.
 */
export interface FieldName {
  /** Lower case. */
  readonly name: string
  readonly role: FieldRole
}

export type FieldRole =
  /** Passed on. */
  | 'end-to-end'
  /** Concerns one connection, or is written by the proxy: never passed on. */
  | 'dropped'
  /** Read by the proxy, and passed on by rules of their own. */
  | 'host'
  | 'content-length'
  | 'transfer-encoding'
  | 'connection'
  | 'upgrade'
  | 'expect'
  | 'te'

/** The name in the table, or undefined when it is not a token (RFC 9110, section 5.6.2). */
export function fieldNameOf(sent: string): FieldName | undefined {
  const known = names.get(sent)
  if (known !== undefined) return known
  if (!token.test(sent)) return undefined
  const name = sent.toLowerCase()
  const field: FieldName = { name, role: roleOf(name) }
  if (names.size < namesMax && sent.length <= nameCharactersMax) names.set(sent, field)
  return field
}

/** A token of HTTP, such as a method. */
export function isToken(text: string): boolean {
  return token.test(text)
}

/** One byte per character, and no control characters but tab (RFC 9110, section 5.5). */
export function isFieldValue(value: string): boolean {
  return !forbiddenInValue.test(value)
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const forbiddenInValue = /[^\t -~\x80-\xff]/

/** Names that are remembered, as sent; others are checked every time. */
const namesMax = 2_000
const nameCharactersMax = 64
const names = new Map<string, FieldName>()

const roles: ReadonlyMap<string, FieldRole> = new Map([
  ['host', 'host'],
  ['content-length', 'content-length'],
  ['transfer-encoding', 'transfer-encoding'],
  ['connection', 'connection'],
  ['upgrade', 'upgrade'],
  ['expect', 'expect'],
  ['te', 'te'],
  ['keep-alive', 'dropped'],
  ['proxy-connection', 'dropped'],
  ['trailer', 'dropped'],
  ['http2-settings', 'dropped'],
])

/** Fields by which backends learn about the client: those of the client itself would be believed. */
const written: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-scheme',
  'x-original-forwarded-for',
  'x-real-ip',
])

/**
 * CGI and its successors do not distinguish `_` from `-`: `x_real_ip` would replace what the proxy has
 * written.
 */
function roleOf(name: string): FieldRole {
  const dashed = name.includes('_') ? name.replaceAll('_', '-') : name
  if (dashed !== name) return roles.has(dashed) || written.has(dashed) ? 'dropped' : 'end-to-end'
  return roles.get(name) ?? (written.has(name) ? 'dropped' : 'end-to-end')
}
