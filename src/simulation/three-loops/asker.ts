/**
 * Asks the store over datagrams until an answer comes: the same question with the same id, again and again.
 */
import { assert } from '#/base/assert.ts'
import type { DatagramSocket, Platform } from '#/platform/platform.ts'
import { decodeAnswer, encode, questionPort, storeHost, type Answer, type Question } from './messages.ts'

/** How long an answer may take: a little more than the usual way there, a sync, and the way back. */
const answerTimeoutMs = 25

/** How often a question is asked: for longer than the store is ever down or cut off. */
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
   * One of possibly several answers: a question that was asked twice may have been answered twice. A write
   * that had happened by then is answered with `lost-race`, so whoever asked has to look at what stands
   * there.
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
