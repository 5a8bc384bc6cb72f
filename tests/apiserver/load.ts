/** Runs writers and informers on one cluster, and checks that all agree in the end. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { configMaps, namespaces } from '#/api/generated/core/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import { openClient, platform, type ClientOptions } from './open-client.ts'
import { namespace, Writer } from './writer.ts'

const informerCount = 50
const writerCount = 6

/** Maximum time until all informers have seen a write, or recovered from a failure. */
const settleMsMax = 20_000

export class Load {
  readonly #client: Client
  readonly #writers: readonly Writer[]
  readonly #informers: readonly Informer<ConfigMap>[]
  readonly #writing = new AbortController()
  readonly #work: Promise<unknown>
  /** The newest resourceVersion that each informer has reported. */
  readonly #newest = new Map<Informer<ConfigMap>, number>()
  /** Violations reported by informer handlers. */
  readonly #violations: string[] = []

  private constructor(clients: readonly Client[], signal: AbortSignal) {
    this.#client = clients[0]!
    this.#writers = clients
      .slice(0, writerCount)
      .map((client, index) => new Writer(client, `writer-${index}`))
    this.#informers = clients.map(client => {
      return new Informer({ platform, client, resource: configMaps, selection: { namespace } })
    })
    for (const informer of this.#informers) {
      this.#listenTo(informer)
      void informer.run(signal)
    }
    this.#work = Promise.all(this.#writers.map(writer => writer.run(this.#writing.signal)))
    // Prevents an unhandled rejection; failures are reported where the promise is awaited.
    this.#work.catch(() => undefined)
  }

  static async start(t: TestContext, options: ClientOptions): Promise<Load> {
    const clients = await Promise.all(Array.from({ length: informerCount }, () => openClient(t, options)))
    await clients[0]!.create(namespaces, { metadata: { name: namespace } })
    const ended = new AbortController()
    t.after(() => ended.abort())
    const load = new Load(clients, ended.signal)
    await Promise.all(load.#informers.map(informer => informer.waitForSync(AbortSignal.timeout(settleMsMax))))
    return load
  }

  /** Resolves when `count` more writes are acknowledged and all informers have seen the last of them. */
  async advance(count: number): Promise<void> {
    const goal = this.#versions.length + count
    await this.#until(() => this.#versions.length >= goal)
    const newest = Math.max(...this.#versions)
    await this.#until(() => [...this.#newest.values()].every(version => version >= newest))
  }

  /** Stops the writers and compares the writers' and informers' states with the API. */
  async settle(t: TestContext): Promise<void> {
    this.#writing.abort()
    await this.#work
    const { items } = await this.#client.listAll(configMaps, { namespace })
    const stored = new Map(items.map(item => [keyOf(item), item]))
    const contents = new Map(items.map(({ metadata, data }) => [metadata.name, data?.['content']]))
    for (const writer of this.#writers) writer.check(contents)
    const versions = this.#versions
    assert.equal(new Set(versions).size, versions.length, 'two writes were acknowledged with one version')
    await Promise.all(this.#informers.map(informer => equals(informer, stored)))
    assert.deepEqual(this.#violations, [])
    const uncertain = this.#writers.reduce((sum, each) => sum + each.uncertain, 0)
    t.diagnostic(
      `${versions.length} writes acknowledged, ${uncertain} uncertain, ${items.length} objects left`,
    )
  }

  get #versions(): readonly number[] {
    return this.#writers.flatMap(writer => writer.versions)
  }

  async #until(isSo: () => boolean): Promise<void> {
    const untilMs = performance.now() + settleMsMax
    const waiting = async (): Promise<void> => {
      while (!isSo()) {
        assert.ok(performance.now() < untilMs, 'the server or an informer does not go on')
        await sleep(10)
      }
    }
    await Promise.race([waiting(), this.#work])
  }

  /** Checks that the changes of each key only go forward, each starting from the end of the last. */
  #listenTo(informer: Informer<ConfigMap>): void {
    const seen = new Map<string, ConfigMap>()
    this.#newest.set(informer, 0)
    const newest = new Map<string, number>()
    informer.addEventHandler((key, { oldObject, newObject }) => {
      if (oldObject !== seen.get(key)) this.#violations.push(`${key} was not what it is said to have been`)
      if (newObject === undefined) return void seen.delete(key)
      const version = Number(newObject.metadata.resourceVersion)
      if (version <= (newest.get(key) ?? 0)) this.#violations.push(`${key} went back to ${version}`)
      newest.set(key, version)
      this.#newest.set(informer, Math.max(version, this.#newest.get(informer)!))
      seen.set(key, newObject)
    })
  }
}

async function equals(informer: Informer<ConfigMap>, stored: ReadonlyMap<string, ConfigMap>): Promise<void> {
  const shown = (objects: Iterable<ConfigMap>) => new Map([...objects].map(object => [keyOf(object), object]))
  const untilMs = performance.now() + settleMsMax
  const newest = (objects: Iterable<ConfigMap>): string => {
    return [...objects]
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .sort()
      .join()
  }
  while (newest(informer.list()) !== newest(stored.values()) && performance.now() < untilMs) await sleep(20)
  assert.deepEqual(shown(informer.list()), stored)
}
