/**
 * A strict parser of HTTP/1.x heads (RFC 9112). Whatever two implementations could understand differently is
 * refused, since a request must not be two requests for a backend: repeated or malformed content-length,
 * content-length with transfer-encoding, codings other than `chunked`, lines that do not end with CR LF,
 * folded lines, white space before the colon, control characters.
 */
import { fieldNameOf, type FieldName } from './field-name.ts'
import {
  unknownLength,
  untilClose,
  withoutField,
  type Fields,
  type RequestHead,
  type ResponseHead,
} from './head.ts'
import { hostnameOf, normalizeTarget } from './target.ts'

/** The request cannot be understood, or is not served. */
export interface RefusedHead {
  readonly refusal: 400 | 405 | 417 | 501 | 505
}

/** `text` is the head with the CR LF of its last line, but without the empty line; one byte per character. */
export function parseRequestHead(text: string): RequestHead | RefusedHead {
  if (malformedLine.test(text)) return badRequest
  const line = requestLine.exec(text)
  if (line === null) return badRequest
  const { 1: method = '', 2: sentTarget = '', 3: version, 4: minor } = line
  if (version !== '1') return { refusal: 505 }
  const found = parseFields(text, line[0].length)
  if (found === undefined) return badRequest
  const isHttp10 = minor === '0'
  const bodyLength = requestBodyLength(found, isHttp10)
  if (bodyLength === undefined) return badRequest
  if (found.hosts > 1 || (found.hosts === 0 && !isHttp10)) return badRequest
  if (method === 'CONNECT') return { refusal: 405 }
  const absolute = sentTarget.charCodeAt(0) === slash ? undefined : absoluteForm.exec(sentTarget)
  const target = absolute ? `${absolute[2]?.startsWith('/') ? '' : '/'}${absolute[2] ?? ''}` : sentTarget
  if (target.charCodeAt(0) !== slash && !(target === '*' && method === 'OPTIONS')) return badRequest
  const authority = absolute ? absolute[1]! : found.host
  const hostname = hostnameOf(authority)
  if (hostname === undefined || (absolute && hostnameOf(found.host) === undefined)) return badRequest
  const expects = found.expects?.toLowerCase()
  if (expects !== undefined && expects !== '100-continue') return { refusal: 417 }
  const { target: normal, path } = normalizeTarget(target)
  return {
    method,
    target: normal,
    path,
    hostname,
    authority,
    fields: found.fields,
    bodyLength,
    isKeptAlive: isKeptAlive(found, isHttp10),
    isHttp10,
    upgrade: hasOption(found, 'upgrade') && !isHttp10 && bodyLength === 0 ? found.upgrade : undefined,
    expects: isHttp10 ? undefined : expects,
    acceptsTrailers: found.acceptsTrailers,
  }
}

/** Undefined when the response is malformed. `method` is that of its request. */
export function parseResponseHead(text: string, method: string): ResponseHead | undefined {
  if (malformedLine.test(text)) return undefined
  const line = statusLine.exec(text)
  if (line === null) return undefined
  const status = Number(line[2])
  const found = parseFields(text, line[0].length)
  if (found === undefined || status < 100 || status > 599) return undefined
  const isHttp10 = line[1] === '0'
  const { lengths, codings, fields } = found
  if (codings > 0 && (lengths > 0 || isHttp10 || !isChunked(found))) return undefined
  if (lengths > 0 && found.length === undefined) return undefined
  const isWithoutBody = method === 'HEAD' || status < 200 || status === 204 || status === 304
  const declared = codings > 0 ? unknownLength : (found.length ?? untilClose)
  const isUpgrade = status === 101
  if (found.hosts > 0) fields.push('host', found.host)
  return {
    status,
    fields,
    bodyLength: isWithoutBody ? 0 : declared,
    declaredLength: isWithoutBody && status !== 204 && status >= 200 ? found.length : undefined,
    isKeptAlive: isKeptAlive(found, isHttp10) && (isWithoutBody || declared !== untilClose) && !isUpgrade,
    upgrade: isUpgrade ? (found.upgrade ?? '') : undefined,
  }
}

/**
 * Trailers of a chunked body; undefined when malformed. Fields that concern framing and routing are dropped.
 */
export function parseTrailers(text: string): Fields | undefined {
  if (malformedLine.test(text)) return undefined
  return parseFields(text, 0)?.fields
}

const badRequest: RefusedHead = { refusal: 400 }
const slash = 0x2f

/** Control characters, and CR or LF alone. */
// oxlint-disable-next-line no-control-regex
const malformedLine = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/
const requestLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-"$-~\x80-\xff]+) HTTP\/(\d)\.(\d)\r\n/
const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: [^\r]*)?\r\n/
const absoluteForm = /^https?:\/\/([^/?@]+)([/?].*)?$/i
/** Fewer digits than exact integers have. */
const lengthValue = /^\d{1,15}$/

interface FoundFields {
  /** End-to-end only. */
  fields: Fields
  hosts: number
  host: string
  lengths: number
  /** Undefined if there is none, or if it is malformed. */
  length: number | undefined
  /** Number of transfer-encoding fields. */
  codings: number
  coding: string
  /** Lower case. */
  connection: string
  upgrade: string | undefined
  expects: string | undefined
  acceptsTrailers: boolean
}

function parseFields(text: string, start: number): FoundFields | undefined {
  const found: FoundFields = {
    fields: [],
    hosts: 0,
    host: '',
    lengths: 0,
    length: undefined,
    codings: 0,
    coding: '',
    connection: '',
    upgrade: undefined,
    expects: undefined,
    acceptsTrailers: false,
  }
  for (let at = start; at < text.length;) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon <= at || colon > end) return undefined
    const field = fieldNameOf(text.slice(at, colon))
    if (field === undefined) return undefined
    const value = valueBetween(text, colon + 1, end)
    if (field.role === 'end-to-end') found.fields.push(field.name, value)
    else note(found, field, value)
    at = end + 2
  }
  if (found.connection !== '' && !usualOptions.test(found.connection)) dropListed(found)
  return found
}

function note(found: FoundFields, { role }: FieldName, value: string): void {
  switch (role) {
    case 'host':
      found.hosts++
      found.host = value
      break
    case 'content-length':
      found.lengths++
      found.length = found.lengths === 1 && lengthValue.test(value) ? Number(value) : undefined
      break
    case 'transfer-encoding':
      found.codings++
      found.coding = value
      break
    case 'connection':
      found.connection = (found.connection === '' ? value : `${found.connection},${value}`).toLowerCase()
      break
    case 'upgrade':
      found.upgrade = value
      break
    case 'expect':
      found.expects = value
      break
    case 'te':
      found.acceptsTrailers = /(?:^|[ ,])trailers(?:$|[ ,;])/i.test(value)
      break
    case 'dropped':
    case 'end-to-end':
      break
  }
}

/** Without optional white space. */
function valueBetween(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

const usualOptions = /^(?:keep-alive|close|upgrade)$/

/** Fields that the connection header lists concern only this connection. */
function dropListed(found: FoundFields): void {
  const options = new Set(found.connection.split(',').map(option => option.trim()))
  let { fields } = found
  for (const option of options) if (fields.includes(option)) fields = withoutField(fields, option)
  found.fields = fields
}

function hasOption({ connection }: FoundFields, option: string): boolean {
  if (connection === '') return false
  if (connection === option) return true
  return connection.split(',').some(each => each.trim() === option)
}

function isKeptAlive(found: FoundFields, isHttp10: boolean): boolean {
  return isHttp10 ? hasOption(found, 'keep-alive') : !hasOption(found, 'close')
}

function isChunked({ codings, coding }: FoundFields): boolean {
  return codings === 1 && coding.toLowerCase() === 'chunked'
}

/** Undefined if the length is ambiguous. */
function requestBodyLength(found: FoundFields, isHttp10: boolean): number | undefined {
  if (found.codings > 0)
    return found.lengths === 0 && !isHttp10 && isChunked(found) ? unknownLength : undefined
  return found.lengths === 0 ? 0 : found.length
}
