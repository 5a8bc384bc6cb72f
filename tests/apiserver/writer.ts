/**
 * Creates, changes and deletes config maps without pause, and knows what the server has acknowledged. What
 * was under way when the server died may have happened or not; whatever it finds afterwards must be one of
 * the two.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isApiError } from '#/api/errors.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { Client } from '#/client/client.ts'
import { TransportError } from '#/client/transport.ts'

export const namespace = 'load'

/** What a config map says; undefined where there is none. */
type Content = string | undefined

export class Writer {
  readonly #client: Client
  readonly #name: string
  /** The last content that was acknowledged or read, under each name. */
  readonly #known = new Map<string, Content>()
  /**
   * What was tried since the last acknowledgement and may have happened, or may happen yet: a store finishes what a
   * server has begun that is dead by now. A write that is acknowledged rules them out, since each depends on what was
   * there before.
   */
  readonly #tried = new Map<string, Content[]>()
  /** The version of each write that was acknowledged. */
  readonly versions: number[] = []
  /** Writes of which nobody knows whether they happened. */
  uncertain = 0
  #count = 0

  constructor(client: Client, name: string) {
    this.#client = client
    this.#name = name
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const name = `${this.#name}-${this.#count++ % namesEach}`
      try {
        await this.#step(name)
      } catch (error) {
        if (!isOutage(error) && !(isConflict(error) && this.#triedAt(name).length > 1)) throw error
        this.uncertain++
        await sleep(retryMs)
      }
    }
  }

  /** Throws when something that was acknowledged is not there. */
  check(contents: ReadonlyMap<string, Content>): void {
    for (const name of this.#known.keys()) this.#settle(name, contents.get(name))
  }

  async #step(name: string): Promise<void> {
    const before = await this.#client.find(configMaps, { namespace, name })
    this.#settle(name, before?.data?.['content'])
    const content = before !== undefined && this.#count % 5 === 0 ? undefined : `${this.#name} ${this.#count}`
    this.#tried.set(name, [...this.#triedAt(name), content])
    const written = await this.#write(name, before, content)
    this.#tried.delete(name)
    this.#known.set(name, content)
    if (written !== undefined) this.versions.push(Number(written.metadata!.resourceVersion))
  }

  async #write(
    name: string,
    before: ConfigMap | undefined,
    content: Content,
  ): Promise<ConfigMap | undefined> {
    const client = this.#client
    const data = { content: content ?? '', padding: 'x'.repeat(500) }
    if (before === undefined) return client.create(configMaps, { metadata: { namespace, name }, data })
    if (content !== undefined) return client.update(configMaps, { ...before, data })
    const { uid, resourceVersion } = before.metadata!
    const preconditions = { uid: uid!, resourceVersion: resourceVersion! }
    return void (await client.delete(configMaps, { namespace, name }, { preconditions }))
  }

  #settle(name: string, found: Content): void {
    const known = this.#known.get(name)
    const isPossible = found === known || this.#triedAt(name).includes(found)
    assert.ok(isPossible, `${name} is ${found}, but ${known} was acknowledged`)
    this.#known.set(name, found)
  }

  #triedAt(name: string): readonly Content[] {
    return this.#tried.get(name) ?? []
  }
}

const namesEach = 7
const retryMs = 50

/** The server is away, or on its way up or down, or its store is. */
function isOutage(error: unknown): boolean {
  return error instanceof TransportError || (isApiError(error) && error.code >= 500)
}

function isConflict(error: unknown): boolean {
  return isApiError(error) && (error.code === 409 || error.code === 404)
}
