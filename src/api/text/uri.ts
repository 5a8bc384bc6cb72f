/**
 * URI parser that follows Go's `net/url`, used for `isURL` in CEL and the format `uri` of custom resources,
 * with the same errors. The platform's `URL` is not a substitute: it repairs errors, and it requires a
 * scheme.
 */
import { parseIp } from '../net/ip.ts'
import { quote } from './quote.ts'

export interface Uri {
  /** Lower case; empty if there is none. */
  readonly scheme: string
  /** The part after the scheme if it is not a path: `mailto:someone`. */
  readonly opaque: string
  readonly userInfo: string | undefined
  /** With the port; an IPv6 address is in brackets. */
  readonly host: string
  /** Escaped; as written if that was valid. */
  readonly path: string
  /** As written, without the question mark; undefined if there was none. */
  readonly query: string | undefined
  readonly fragment: string
}

/** Thrown if a text is not a URI. The message is Kubernetes'. */
export class UriError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UriError'
  }
}

/** Parses a URI with a scheme, or an absolute path. Throws UriError. */
export function parseUri(text: string): Uri {
  assertRequestUri(text)
  const hash = text.indexOf('#')
  if (hash === -1) return parse(text, false)
  const fragment = text.slice(hash + 1)
  checkEscapes(text, fragment)
  return { ...parse(text.slice(0, hash), false), fragment }
}

/** An error message; undefined if the URI is valid. */
export function checkUri(text: string): string | undefined {
  try {
    assertRequestUri(text)
    return undefined
  } catch (error) {
    if (error instanceof UriError) return error.message
    throw error
  }
}

/** The host without the port, and an IPv6 address without brackets. */
export function hostnameOf({ host }: Uri): string {
  const name = host.slice(0, host.length - portText(host).length)
  return name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name
}

export function portOf({ host }: Uri): string {
  return portText(host).slice(1)
}

/** The values of each key in order. Pairs with invalid escapes are omitted. */
export function queryOf({ query = '' }: Uri): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';')) continue
    const equalSign = part.indexOf('=')
    const key = unescapeQuery(equalSign === -1 ? part : part.slice(0, equalSign))
    const value = unescapeQuery(equalSign === -1 ? '' : part.slice(equalSign + 1))
    if (key === undefined || value === undefined) continue
    const known = values.get(key)
    if (known === undefined) values.set(key, [value])
    else known.push(value)
  }
  return values
}

/** A fragment counts as part of the path or query, where it may be invalid. */
function assertRequestUri(text: string): void {
  parse(text, true)
}

function parse(text: string, isRequest: boolean): Uri {
  const fail = (message: string): never => {
    throw new UriError(`parse ${quote(text)}: ${message}`)
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(text)) fail('net/url: invalid control character in URL')
  if (text === '' && isRequest) fail('empty url')
  if (text === '*') return { ...nothing, path: '*' }
  if (text.startsWith(':')) fail('missing protocol scheme')
  const [head = '', scheme = ''] = /^([a-zA-Z][a-zA-Z0-9+\-.]*):/.exec(text) ?? []
  const [rest, query] = cut(text.slice(head.length), '?')
  const base = { ...nothing, scheme: scheme.toLowerCase(), query }
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...base, opaque: rest }
    if (isRequest) fail('invalid URI for request')
    if (rest.split('/', 1)[0]?.includes(':')) fail('first path segment in URL cannot contain colon')
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')))
  if (!hasAuthority) return { ...base, path: parsePath(text, rest) }
  const slash = rest.indexOf('/', 2)
  const authority = slash === -1 ? rest.slice(2) : rest.slice(2, slash)
  const path = slash === -1 ? '' : rest.slice(slash)
  return { ...base, ...parseAuthority(text, authority), path: parsePath(text, path) }
}

const nothing: Uri = {
  scheme: '',
  opaque: '',
  userInfo: undefined,
  host: '',
  path: '',
  query: undefined,
  fragment: '',
}

function cut(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

function parseAuthority(text: string, authority: string): Pick<Uri, 'userInfo' | 'host'> {
  const at = authority.lastIndexOf('@')
  const host = parseHost(text, authority.slice(at + 1))
  if (at === -1) return { userInfo: undefined, host }
  const userInfo = authority.slice(0, at)
  if (/[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/.test(userInfo)) {
    throw new UriError(`parse ${quote(text)}: net/url: invalid userinfo`)
  }
  checkEscapes(text, userInfo)
  return { userInfo, host }
}

function parseHost(text: string, host: string): string {
  const close = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && close === -1) {
    throw new UriError(`parse ${quote(text)}: missing ']' in host`)
  }
  const colon = close === -1 ? host.indexOf(':') : close + 1
  const port = colon === -1 ? '' : host.slice(colon)
  if (port !== '' && !/^:[0-9]*$/.test(port)) {
    throw new UriError(`parse ${quote(text)}: invalid port ${quote(port)} after host`)
  }
  if (close !== -1) checkIpLiteral(text, host.slice(1, close))
  checkEscapes(text, host)
  // In a host only non-ASCII characters and the percent sign may be escaped.
  const ascii = /%(?!25)[0-7][0-9a-fA-F]/.exec(host)?.[0]
  if (ascii !== undefined) throw new UriError(`parse ${quote(text)}: invalid URL escape ${quote(ascii)}`)
  const bad = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.exec(host)?.[0]
  if (bad !== undefined) {
    throw new UriError(`parse ${quote(text)}: invalid character ${quote(bad)} in host name`)
  }
  return unescape(host)
}

/** Brackets contain an IPv6 address with an optional zone. */
function checkIpLiteral(text: string, literal: string): void {
  const [address] = cut(literal, '%25')
  const ip = parseIp(address)
  if (ip?.family === 6) return
  const reason = ip === undefined ? `ParseAddr(${quote(address)}): unable to parse IP` : 'invalid IP-literal'
  throw new UriError(`parse ${quote(text)}: ${ip === undefined ? `invalid host: ${reason}` : reason}`)
}

/** Returned as written if nothing had to be escaped. */
function parsePath(text: string, path: string): string {
  checkEscapes(text, path)
  if (!/[^A-Za-z0-9\-_.~!$&'()*+,;=:@[\]%/]/.test(path)) return path
  return escape(unescapeBytes(path), /[A-Za-z0-9\-_.~$&+,/:;=@]/)
}

function checkEscapes(text: string, part: string): void {
  const wrong = /%(?![0-9a-fA-F]{2})[^]{0,2}/.exec(part)?.[0]
  if (wrong !== undefined) throw new UriError(`parse ${quote(text)}: invalid URL escape ${quote(wrong)}`)
}

/** Escapes have already been validated. */
function unescape(text: string): string {
  return text.includes('%') ? unescapeBytes(text).toString() : text
}

function unescapeQuery(text: string): string | undefined {
  return /%(?![0-9a-fA-F]{2})/.test(text) ? undefined : unescape(text.replaceAll('+', ' '))
}

function unescapeBytes(text: string): Buffer {
  const pieces = text.split(/((?:%[0-9a-fA-F]{2})+)/)
  return Buffer.concat(
    pieces.map((piece, index) => {
      return index % 2 === 0 ? Buffer.from(piece) : Buffer.from(piece.replaceAll('%', ''), 'hex')
    }),
  )
}

function escape(bytes: Buffer, kept: RegExp): string {
  let text = ''
  for (const byte of bytes) {
    const character = String.fromCharCode(byte)
    text += kept.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return text
}

/** The port with its colon; empty if there is none. */
function portText(host: string): string {
  return /:[0-9]*$/.exec(host)?.[0] ?? ''
}
