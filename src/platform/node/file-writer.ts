/**
 * Writes files in a thread of its own, so that a slow disk does not block the event loop. One message carries all
 * steps of a call: a commit of the store costs one message and one reply.
 */
import { Worker } from 'node:worker_threads'
import type { FileStep, FileWriter } from '../platform.ts'
import type { Reply, Request } from './file-writer/messages.ts'

export class NodeFileWriter implements FileWriter {
  readonly #worker: Worker
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>()
  #lastId = 0
  #failure: Error | undefined

  constructor() {
    this.#worker = new Worker(new URL('file-writer/thread.ts', import.meta.url))
    this.#worker.on('message', (reply: Reply) => this.#settle(reply))
    this.#worker.on('error', error => this.#fail(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#fail(new Error('the file writer has ended')))
  }

  async perform(steps: readonly FileStep[]): Promise<void> {
    if (this.#failure) throw this.#failure
    const id = ++this.#lastId
    // Steps may share a buffer, which can be moved only once.
    const moved = new Set(steps.flatMap(transferable))
    this.#worker.postMessage({ id, steps } satisfies Request, [...moved])
    const waiting = Promise.withResolvers<void>()
    this.#waiting.set(id, waiting)
    return waiting.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#waiting.size > 0) {
      await Promise.allSettled([...this.#waiting.values()].map(waiting => waiting.promise))
    }
    await this.#worker.terminate()
  }

  #settle({ id, error }: Reply): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve()
    else waiting?.reject(Object.assign(new Error(error.message), error))
  }

  #fail(error: Error): void {
    this.#failure ??= error
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure)
    this.#waiting.clear()
  }
}

/** A buffer of its own is moved to the thread; a part of a larger one is copied. */
function transferable(step: FileStep): ArrayBuffer[] {
  if (step.type !== 'write') return []
  const { bytes } = step
  return bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : []
}
