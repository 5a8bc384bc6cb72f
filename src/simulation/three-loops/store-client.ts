/** Sends requests to the store over datagrams, and retries with the same id until a response arrives. */
import { assert } from '#/base/assert.ts'
import type { DatagramSocket, Platform } from '#/platform/platform.ts'
import {
  decodeResponse,
  encode,
  requestPort,
  storeHost,
  type StoreResponse,
  type StoreRequest,
} from './messages.ts'

/** Initial response timeout: slightly more than a round trip and a sync. */
const responseTimeoutMs = 25

/** Maximum number of attempts; covers more time than the store is ever down or disconnected. */
const attemptsMax = 200

export class StoreClient {
  readonly #platform: Platform
  readonly #name: string
  readonly #waiting = new Map<string, (response: StoreResponse) => void>()
  #socket: DatagramSocket | undefined
  #sent = 0

  constructor(platform: Platform, name: string) {
    this.#platform = platform
    this.#name = name
  }

  /**
   * Returns one of possibly several responses, since a retried request may be answered twice. A write that
   * succeeded in an earlier attempt is answered with `lost-race`, so the caller must compare the stored note.
   */
  async send(request: StoreRequest): Promise<StoreResponse> {
    const { clock, network, random } = this.#platform
    const anyPort = { host: '0.0.0.0', port: 0 }
    const socket = (this.#socket ??= await network.bindDatagram(anyPort, message => this.#receive(message)))
    const id = `${this.#name}-${++this.#sent}`
    const { promise, resolve } = Promise.withResolvers<StoreResponse>()
    this.#waiting.set(id, resolve)
    const responded = new AbortController()
    void promise.then(() => responded.abort())
    for (let attempt = 0; attempt < attemptsMax && !responded.signal.aborted; attempt++) {
      socket.send(encode({ id, content: request }), { host: storeHost, port: requestPort })
      const timeoutMs = responseTimeoutMs * (1 + Math.min(attempt, 3) + random.fraction('retry jitter'))
      await clock.sleep(timeoutMs, responded.signal).catch(() => undefined)
    }
    this.#waiting.delete(id)
    assert(responded.signal.aborted, `${this.#name} got no response to ${JSON.stringify(request)}`)
    return promise
  }

  #receive(message: Uint8Array): void {
    const { id, content } = decodeResponse(message)
    this.#waiting.get(id)?.(content)
  }
}
