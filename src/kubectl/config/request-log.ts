import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Transport, TransportBody, TransportRequest, TransportResponse } from '#/client/transport.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { Clock } from '#/platform/platform.ts'

export interface RequestLogOptions {
  readonly transport: Transport
  /** URL of the API server. */
  readonly server: string
  /** 6 logs requests with their status, 7 their headers, too, 8 bodies, 9 and above whole bodies. */
  readonly level: number
  readonly clock: Clock
  readonly streams: IOStreams
}

/** Characters of a body that level 8 shows. */
const bodyCharactersMax = 1024

/** Values of these headers are credentials. */
const masked: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'set-cookie'])

const statusTexts: Readonly<Record<number, string>> = {
  101: 'Switching Protocols',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/** Bodies of requests for secrets and tokens are credentials. */
const secretPath = /\/(?:secrets|token|tokenreviews)(?:\/|$)/
const omitted = '<masked>'

/** A transport that logs its requests to stderr: `kubectl -v=8`. */
export function loggingTransport(options: RequestLogOptions): Transport {
  const { transport, clock, level } = options
  const log = new RequestLog(options)
  return {
    async request(request) {
      const url = log.urlOf(request)
      const isSecret = secretPath.test(request.path)
      if (level >= 8) {
        const text = request.body === undefined ? '' : textOf(request.body)
        log.body('Request Body', isSecret && text !== '' ? omitted : text)
      }
      if (level >= 7)
        log.line(
          `"Request" verb=${quoted(request.method)} url=${quoted(url)} ${headerText(headersOf(request))}`,
        )
      const startMs = clock.monotonicMs()
      const response = await transport.request(request)
      const tookMs = Math.round(clock.monotonicMs() - startMs)
      const head = level >= 7 ? '' : `verb=${quoted(request.method)} url=${quoted(url)} `
      const headers = level >= 8 ? ` ${headerText(response.headers)}` : ''
      const status = `${response.status} ${statusTexts[response.status] ?? ''}`.trimEnd()
      log.line(`"Response" ${head}status=${quoted(status)}${headers} milliseconds=${tookMs}`)
      return level >= 8 ? log.withBody(response, { isSecret }) : response
    },
  }
}

class RequestLog {
  readonly #options: RequestLogOptions

  constructor(options: RequestLogOptions) {
    this.#options = options
  }

  urlOf({ path, query }: TransportRequest): string {
    const parameters = query.toString()
    return `${this.#options.server.replace(/\/+$/, '')}${path}${parameters === '' ? '' : `?${parameters}`}`
  }

  /** In klog's format: severity, date and time. */
  line(text: string): void {
    const { clock, streams } = this.#options
    const [date = '', time = ''] = new Date(clock.now()).toISOString().split('T')
    streams.stderr.write(`I${date.slice(5).replace('-', '')} ${time.replace('Z', '000')} kubectl] ${text}\n`)
  }

  body(name: string, text: string): void {
    const isCut = this.#options.level < 9 && text.length > bodyCharactersMax
    const shown = isCut
      ? `${text.slice(0, bodyCharactersMax)} [truncated ${text.length - bodyCharactersMax} chars]`
      : text
    const value = shown.includes('\n') ? `<\n${shown.replaceAll(/^/gm, '\t')}\n >` : quoted(shown)
    this.line(`"${name}" body=${value}`)
  }

  /** Streams, such as watches and logs, are not shown. */
  withBody(response: TransportResponse, { isSecret }: { readonly isSecret: boolean }): TransportResponse {
    const show = (text: string): void => this.body('Response Body', isSecret ? omitted : text)
    return {
      status: response.status,
      headers: response.headers,
      value: async () => {
        const value = await response.value()
        show(value === undefined ? '' : stringifyJson(value as JsonValue))
        return value
      },
      events: () => response.events(),
      bytes: () => shownAtEnd(response.bytes(), show),
      discard: () => response.discard(),
    }
  }
}

/** A longer body is not collected for the log. */
const collectedBytesMax = 10_000_000

async function* shownAtEnd(
  pieces: AsyncIterable<Uint8Array>,
  show: (text: string) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const read: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes <= collectedBytesMax) read.push(piece)
    yield piece
  }
  show(Buffer.concat(read).toString())
}

function textOf(body: TransportBody): string {
  return 'bytes' in body ? Buffer.from(body.bytes).toString() : stringifyJson(body.value as JsonValue)
}

function headersOf({ headers, body }: TransportRequest): Readonly<Record<string, string | undefined>> {
  return { ...headers, ...(body && { 'content-type': body.mediaType }) }
}

function headerText(headers: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(headers).map(([name, value]) => {
    const canonical = name.replaceAll(/(?:^|-)[a-z]/g, letter => letter.toUpperCase())
    return `\t${canonical}: ${masked.has(name) ? '<masked>' : (value ?? '')}\n`
  })
  return `headers=<\n${lines.sort().join('')} >`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
