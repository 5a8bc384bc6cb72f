/** Sends requests to the store over datagrams, and retries with the same id until a response arrives. */
import { assert } from '#/base/assert.ts'
import type { DatagramSocket, Platform } from '#/platform/platform.ts'
import { decodeAnswer, encode, questionPort, storeHost, type Answer, type Question } from './messages.ts'

/** Initial response timeout: slightly more than a round trip and a sync. */
const answerTimeoutMs = 25

/** Maximum number of attempts; covers more time than the store is ever down or disconnected. */
const attemptsMax = 200

export class Asker {
  readonly #platform: Platform
  readonly #name: string
  readonly #waiting = new Map<string, (answer: Answer) => void>()
  #socket: DatagramSocket | undefined
  #asked = 0

  constructor(platform: Platform, name: string) {
    this.#platform = platform
    this.#name = name
  }

  /**
   * Returns one of possibly several responses, since a retried request may be answered twice. A write that
   * succeeded in an earlier attempt is answered with `lost-race`, so the caller must compare the stored note.
   */
  async ask(question: Question): Promise<Answer> {
    const { clock, network, random } = this.#platform
    const anyPort = { host: '0.0.0.0', port: 0 }
    const socket = (this.#socket ??= await network.bindDatagram(anyPort, message => this.#hear(message)))
    const id = `${this.#name}-${++this.#asked}`
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#waiting.set(id, resolve)
    const answered = new AbortController()
    void promise.then(() => answered.abort())
    for (let attempt = 0; attempt < attemptsMax && !answered.signal.aborted; attempt++) {
      socket.send(encode({ id, content: question }), { host: storeHost, port: questionPort })
      const timeoutMs = answerTimeoutMs * (1 + Math.min(attempt, 3) + random.fraction('retry jitter'))
      await clock.sleep(timeoutMs, answered.signal).catch(() => undefined)
    }
    this.#waiting.delete(id)
    assert(answered.signal.aborted, `${this.#name} got no answer to ${JSON.stringify(question)}`)
    return promise
  }

  #hear(message: Uint8Array): void {
    const { id, content } = decodeAnswer(message)
    this.#waiting.get(id)?.(content)
  }
}
