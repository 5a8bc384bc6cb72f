/** An HTTP request as the pipeline sees it. Rarely used fields are created lazily. */
import { badRequest, requestEntityTooLarge } from '#/api/errors.ts'
import { HttpBodyError, type HttpExchange } from '#/platform/http.ts'
import type { ApiRequest, Peer, RequestBody } from '../request.ts'

export class HttpRequest implements ApiRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly peer: Peer
  readonly search: string
  readonly #exchange: HttpExchange
  #body: RequestBody | undefined
  #headerNames: readonly string[] | undefined
  #query: URLSearchParams | undefined
  #abortion: AbortController | undefined

  constructor(exchange: HttpExchange, peer: Peer) {
    const target = withoutOrigin(exchange.target)
    const question = target.indexOf('?')
    this.method = exchange.method
    this.path = question === -1 ? target : target.slice(0, question)
    this.headers = exchange.headers
    this.peer = peer
    this.#exchange = exchange
    this.search = question === -1 ? '' : target.slice(question + 1)
  }

  get isUpgrade(): boolean {
    return this.#exchange.hijack !== undefined
  }

  headerValues(name: string): readonly string[] {
    return this.#exchange.headerValues(name)
  }

  get headerNames(): readonly string[] {
    this.#headerNames ??= Object.keys(this.headers)
    return this.#headerNames
  }

  get body(): RequestBody {
    const exchange = this.#exchange
    this.#body ??= {
      bytes: limitBytes => readBody(exchange, limitBytes),
      chunks: () => streamBody(exchange),
    }
    return this.#body
  }

  get query(): URLSearchParams {
    if (this.search === '') return noParameters
    this.#query ??= new URLSearchParams(this.search)
    return this.#query
  }

  get signal(): AbortSignal {
    if (this.#abortion === undefined) {
      this.#abortion = new AbortController()
      this.#exchange.onClose(() => this.abort(clientDisconnected))
    }
    return this.#abortion.signal
  }

  get isAborted(): boolean {
    return this.#abortion ? this.#abortion.signal.aborted : this.#exchange.closed
  }

  abort(reason: Error): void {
    this.#abortion ??= new AbortController()
    this.#abortion.abort(reason)
  }
}

/** The query of most requests. Queries are not modified. */
const noParameters = new URLSearchParams()

/** Abort reason when the client has disconnected. */
export const clientDisconnected = new Error('client disconnected')

/** Removes the origin of an absolute-form request target, which clients send to proxies. */
function withoutOrigin(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
}

async function readBody(exchange: HttpExchange, limitBytes: number): Promise<Uint8Array> {
  try {
    return await exchange.readBody(limitBytes)
  } catch (error) {
    throw translated(error, limitBytes)
  }
}

async function* streamBody(exchange: HttpExchange): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* exchange.body()
  } catch (error) {
    throw translated(error, Infinity)
  }
}

function translated(error: unknown, limitBytes: number): unknown {
  if (!(error instanceof HttpBodyError)) return error
  switch (error.reason) {
    case 'too-large':
      return requestEntityTooLarge(`limit is ${limitBytes}`)
    case 'too-slow':
      return badRequest('timed out reading request body')
    case 'aborted':
      return badRequest('unexpected end of request body')
  }
}
