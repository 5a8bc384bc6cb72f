/**
 * In which form a client wants its answer: the media type, and whether objects themselves, tables of them or
 * only their metadata. Anything the server does not have is 406, a body it does not read is 415.
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
  /** Of the group `meta.k8s.io`. */
  readonly version: 'v1' | 'v1beta1'
}

export const mediaTypes: Readonly<Record<Format, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
}

/** Throws ApiError 406. */
export function negotiate(
  accept: string | undefined,
  query: URLSearchParams,
  userAgent: string | undefined,
): Negotiated {
  const { format, transform } = best(accept ?? '')
  return { format, transform, pretty: wantsPretty(query, userAgent) }
}

/** What is left of an `Accept` header for kinds that have no protobuf form. Throws ApiError 406 when nothing is. */
export function withoutProtobuf(accept: string | undefined): string | undefined {
  if (accept === undefined || !accept.includes('protobuf')) return accept
  const isKept = ({ name, parameters }: MediaRange) => name !== mediaTypes.protobuf || parameters.has('as')
  return keepRanges(accept, isKept, [mediaTypes.json, mediaTypes.yaml])
}

/** What is left of an `Accept` header for answers that have no rows. Throws ApiError 406 when nothing is. */
export function withoutTables(accept: string | undefined): string | undefined {
  if (accept === undefined || !accept.includes('Table')) return accept
  return keepRanges(accept, ({ parameters }) => parameters.get('as') !== 'Table', Object.values(mediaTypes))
}

function keepRanges(
  accept: string,
  isKept: (range: MediaRange) => boolean,
  offered: readonly string[],
): string {
  const kept = accept.split(',').filter(text => isKept(parseRange(text)))
  if (kept.length === 0) throw notAcceptable(offered)
  return kept.join(',')
}

/** The format of a request's body. Throws ApiError 415. */
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

/**
 * Choices by the text of the header: clients send few different ones. At the bound everything is forgotten.
 */
const choices = new Map<string, Choice>()
const choicesMax = 1_000

/** Longer headers are cut off: no client that means well sends them. */
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

/** Part of an `Accept` header. */
export interface MediaRange {
  /** In lower case. */
  readonly name: string
  readonly quality: number
  readonly parameters: ReadonlyMap<string, string>
}

/** What a header accepts, what the client likes most first. */
export function acceptedRanges(accept: string): readonly MediaRange[] {
  const ranges = accept.slice(0, acceptCharactersMax).split(',').map(parseRange)
  // The order of equal ranges is the client's preference; sorting keeps it.
  return ranges.filter(range => range.quality > 0).sort((left, right) => right.quality - left.quality)
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
  const kind = parameters.get('as')
  if (kind === undefined) return { format, transform: undefined }
  const version = parameters.get('v')
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined
  // A table has no protobuf form.
  if (kind === 'Table' && format !== 'protobuf') return { format, transform: { kind, version } }
  if (kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList')
    return { format, transform: { kind, version } }
  return undefined
}

function mediaRangeName(text: string): string {
  const semicolon = text.indexOf(';')
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim().toLowerCase()
}

/** People who look with a browser or a plain tool get line breaks without asking. */
function wantsPretty(query: URLSearchParams, userAgent: string | undefined): boolean {
  const asked = query.get('pretty')
  if (asked !== null) return asked !== '0' && asked.toLowerCase() !== 'false'
  return userAgent !== undefined && /^(?:curl|Wget|Mozilla)\//.test(userAgent)
}
