/**
 * Creates, updates and deletes config maps continuously and records what was acknowledged. A write in flight
 * when the server dies may or may not have been executed; the state found afterwards must be one of the two.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isApiError } from '#/api/errors.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import type { Client } from '#/client/client.ts'
import { TransportError } from '#/client/transport.ts'

export const namespace = 'load'

/** The content of a config map; undefined when it does not exist. */
type Content = string | undefined

export class Writer {
  readonly #client: Client
  readonly #name: string
  /** The last content acknowledged or read, by name. */
  readonly #known = new Map<string, Content>()
  /**
   * Unacknowledged writes that may have been executed or may still be: the store may finish a request of a
   * server that has died. An acknowledged write rules them out, since each is conditional on the state
   * before.
   */
  readonly #tried = new Map<string, Content[]>()
  /** The resourceVersions of all acknowledged writes. */
  readonly versions: number[] = []
  /** Number of writes with an unknown outcome. */
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

  /** Throws when an acknowledged write is missing. */
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
    if (written !== undefined) this.versions.push(Number(written.metadata.resourceVersion))
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
    const { uid, resourceVersion } = before.metadata
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

/** The server or its store is down, starting or stopping. */
function isOutage(error: unknown): boolean {
  return error instanceof TransportError || (isApiError(error) && error.code >= 500)
}

function isConflict(error: unknown): boolean {
  return isApiError(error) && (error.code === 409 || error.code === 404)
}
