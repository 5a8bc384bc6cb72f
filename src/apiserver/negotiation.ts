/**
 * Content negotiation: the media type of the response, and the transformation to Table or
 * PartialObjectMetadata. An unsupported Accept is 406, an unsupported request body 415.
 */
import { notAcceptable, unsupportedMediaType } from '#/api/errors.ts'

export interface Negotiated {
  readonly format: Format
  readonly transform: Transform | undefined
  readonly pretty: boolean
}

export type Format = 'json' | 'yaml' | 'protobuf'

export interface Transform {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  /** Version of `meta.k8s.io`. */
  readonly version: 'v1' | 'v1beta1'
}

export const mediaTypes: Readonly<Record<Format, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

/** Formats of watches. */
export const streamMediaTypes: readonly string[] = [
  `${mediaTypes.json};stream=watch`,
  `${mediaTypes.protobuf};stream=watch`,
]

/** Throws ApiError 406. */
export function negotiate(
  accept: string | undefined,
  query: URLSearchParams,
  userAgent: string | undefined,
): Negotiated {
  const { format, transform } = best(accept ?? '')
  return { format, transform, pretty: wantsPretty(query, userAgent) }
}

/** The form of an error: transformations do not apply to it. Throws ApiError 406. */
export function negotiateError(
  accept: string | undefined,
  query: URLSearchParams,
  userAgent: string | undefined,
): Pick<Negotiated, 'format' | 'pretty'> {
  const plain =
    accept === undefined || !accept.includes('as=')
      ? accept
      : keepRanges(accept, ({ parameters }) => !parameters.has('as'))
  return negotiate(plain, query, userAgent)
}

/**
 * Removes protobuf from an `Accept` header, for kinds without protobuf encoding. Throws ApiError 406 if
 * nothing remains.
 */
export function withoutProtobuf(accept: string | undefined): string | undefined {
  if (accept === undefined || !accept.includes('protobuf')) return accept
  const isKept = ({ name, parameters }: MediaRange) => name !== mediaTypes.protobuf || parameters.has('as')
  return keepRanges(accept, isKept)
}

/**
 * Removes Table from an `Accept` header, for responses without rows. Throws ApiError 406 if nothing remains.
 */
export function withoutTables(accept: string | undefined): string | undefined {
  if (accept === undefined || !accept.includes('Table')) return accept
  return keepRanges(accept, ({ parameters }) => parameters.get('as') !== 'Table')
}

function keepRanges(accept: string, isKept: (range: MediaRange) => boolean): string {
  const kept = accept.split(',').filter(text => isKept(parseRange(text)))
  if (kept.length === 0) throw notAcceptable(Object.values(mediaTypes))
  return kept.join(',')
}

/** Format of a request body. Throws ApiError 415. */
export function bodyFormat(contentType: string | undefined): Format {
  const name = mediaRangeName(contentType ?? 'application/json')
  const format = name === '' ? 'json' : formatsByName.get(name)
  if (format) return format
  throw unsupportedMediaType(Object.values(mediaTypes))
}

interface Choice {
  readonly format: Format
  readonly transform: Transform | undefined
}

/** Cached by header text, because clients send few different ones. Cleared when full. */
const choices = new Map<string, Choice>()
const choicesMax = 1_000

/** Maximum length of the Accept header; the rest is ignored. */
const acceptCharactersMax = 4_096

function best(accept: string): Choice {
  const known = choices.get(accept)
  if (known) return known
  const choice = choose(accept)
  if (choices.size >= choicesMax) choices.clear()
  choices.set(accept, choice)
  return choice
}

function choose(accept: string): Choice {
  if (accept.trim() === '') return { format: 'json', transform: undefined }
  for (const range of acceptedRanges(accept)) {
    const choice = offer(range)
    if (choice) return choice
  }
  throw notAcceptable(Object.values(mediaTypes))
}

/** A media range of an `Accept` header. */
export interface MediaRange {
  /** Lowercase. */
  readonly name: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

/** Accepted media ranges, most preferred first. */
export function acceptedRanges(accept: string): readonly MediaRange[] {
  const ranges = accept.slice(0, acceptCharactersMax).split(',').map(parseRange)
  // The sort is stable: equally specific ranges of equal quality keep the client's order.
  return ranges
    .filter(range => range.quality > 0)
    .sort((left, right) => right.quality - left.quality || wildcardsIn(left) - wildcardsIn(right))
}

function wildcardsIn({ name }: MediaRange): number {
  return name.startsWith('*/') ? 2 : name.endsWith('/*') ? 1 : 0
}

function parseRange(text: string): MediaRange {
  const [name = '', ...rest] = text.split(';').map(part => part.trim())
  const parameters = new Map(
    rest.map(part => {
      const equals = part.indexOf('=')
      return equals === -1 ? [part, ''] : [part.slice(0, equals).toLowerCase(), part.slice(equals + 1)]
    }),
  )
  const quality = Number(parameters.get('q') ?? 1)
  return { name: name.toLowerCase(), quality: Number.isNaN(quality) ? 0 : quality, parameters }
}

const formatsByName: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
])

const wildcards: ReadonlySet<string> = new Set(['*/*', 'application/*'])

function offer({ name, parameters }: MediaRange): Choice | undefined {
  const format = wildcards.has(name) ? 'json' : formatsByName.get(name)
  if (format === undefined) return undefined
  const stream = parameters.get('stream') ?? ''
  if (stream !== '' && (stream !== 'watch' || format === 'yaml')) return undefined
  const kind = parameters.get('as')
  const isPlain = kind === undefined && !parameters.has('g') && !parameters.has('v')
  if (isPlain) return { format, transform: undefined }
  const version = parameters.get('v')
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined
  // Table has no protobuf encoding.
  if (kind === 'Table' && format !== 'protobuf') return { format, transform: { kind, version } }
  if (kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList')
    return { format, transform: { kind, version } }
  return undefined
}

function mediaRangeName(text: string): string {
  const semicolon = text.indexOf(';')
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim().toLowerCase()
}

/** Pretty-prints by default for browsers, curl and wget. */
function wantsPretty(query: URLSearchParams, userAgent: string | undefined): boolean {
  const asked = query.get('pretty')
  if (asked) return /^(?:1|t|T|TRUE|true|True)$/.test(asked)
  return userAgent !== undefined && /^(?:curl|Wget|Mozilla\/5\.0)/.test(userAgent)
}
