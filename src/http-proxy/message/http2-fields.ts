/** Fields of HTTP/2 messages as heads, and back. HTTP/2 has pseudo-header fields instead of a first line. */
import { fieldNameOf, isFieldValue, isToken } from './field-name.ts'
import { unknownLength, type BodyLength, type Fields, type RequestHead, type ResponseHead } from './head.ts'
import { hostnameOf, isTarget, normalizeTarget } from './target.ts'

/** Undefined when the request is malformed. `fields` are as received, pseudo-header fields first. */
export function requestHeadOf(received: readonly string[], isEnded: boolean): RequestHead | undefined {
  const read = readFields(received)
  if (read === undefined) return undefined
  const { pseudo, fields, length, acceptsTrailers, expects } = read
  const method = pseudo.get(':method')
  const sentTarget = pseudo.get(':path')
  const authority = pseudo.get(':authority') ?? read.host ?? ''
  const hostname = hostnameOf(authority)
  if (method === undefined || sentTarget === undefined || hostname === undefined || authority === '')
    return undefined
  if (read.host !== undefined && read.host.toLowerCase() !== authority.toLowerCase()) return undefined
  if (!isToken(method) || method === 'CONNECT' || !isTarget(sentTarget)) return undefined
  const { target, path } = normalizeTarget(sentTarget)
  return {
    method,
    target,
    path,
    hostname,
    authority,
    fields,
    bodyLength: isEnded ? 0 : (length ?? unknownLength),
    isKeptAlive: true,
    isHttp10: false,
    upgrade: undefined,
    expects,
    acceptsTrailers,
  }
}

/** Undefined when the response is malformed. */
export function responseHeadOf(received: readonly string[], method: string): ResponseHead | undefined {
  const read = readFields(received)
  const status = Number(read?.pseudo.get(':status'))
  if (read === undefined || !(status >= 100 && status <= 599) || status === 101) return undefined
  const isWithoutBody = method === 'HEAD' || status < 200 || status === 204 || status === 304
  return {
    status,
    fields: read.fields,
    bodyLength: isWithoutBody ? 0 : (read.length ?? unknownLength),
    declaredLength: isWithoutBody ? read.length : undefined,
    isKeptAlive: true,
    upgrade: undefined,
  }
}

export function trailersOf(received: readonly string[]): Fields {
  return readFields(received)?.fields ?? []
}

export interface Http2RequestLine {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly scheme: string
  readonly bodyLength: BodyLength
  readonly acceptsTrailers: boolean
}

export function http2RequestFields(line: Http2RequestLine, fields: Fields): Fields {
  const { method, target, authority, scheme, bodyLength, acceptsTrailers } = line
  return [
    ':method',
    method,
    ':scheme',
    scheme,
    ':authority',
    authority,
    ':path',
    target,
    ...fields,
    ...(acceptsTrailers ? ['te', 'trailers'] : []),
    ...(bodyLength > 0 ? ['content-length', String(bodyLength)] : []),
  ]
}

interface ReadFields {
  readonly pseudo: ReadonlyMap<string, string>
  readonly fields: Fields
  readonly host: string | undefined
  readonly length: number | undefined
  readonly acceptsTrailers: boolean
  readonly expects: string | undefined
}

function readFields(received: readonly string[]): ReadFields | undefined {
  const pseudo = new Map<string, string>()
  const fields: Fields = []
  const cookies: string[] = []
  let host: string | undefined
  let length: number | undefined
  let acceptsTrailers = false
  let expects: string | undefined
  for (let index = 0; index < received.length; index += 2) {
    const name = received[index]!
    const value = received[index + 1]!
    if (!isFieldValue(value)) return undefined
    if (name.startsWith(':')) {
      if (pseudo.has(name)) return undefined
      pseudo.set(name, value)
      continue
    }
    const field = fieldNameOf(name)
    if (field === undefined) return undefined
    if (field.role === 'host') {
      if (host !== undefined) return undefined
      host = value
    } else if (field.role === 'content-length') {
      if (length !== undefined || !/^\d{1,15}$/.test(value)) return undefined
      length = Number(value)
    } else if (field.role === 'te') acceptsTrailers = value.toLowerCase() === 'trailers'
    else if (field.role === 'expect') expects = value.toLowerCase()
    else if (field.role === 'transfer-encoding' || field.role === 'connection') return undefined
    // HTTP/2 may split this field, HTTP/1.1 may not (RFC 9113, section 8.2.3).
    else if (field.name === 'cookie') cookies.push(value)
    else if (field.role === 'end-to-end') fields.push(field.name, value)
  }
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  return { pseudo, fields, host, length, acceptsTrailers, expects }
}
