/**
 * Ordinary work at a steady rate: ConfigMaps are created, patched and deleted; pods come and go; watches begin and
 * end; commands run in containers; lists are read.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { configMaps, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isReady, type LastingCluster } from '../../tests/node/lasting-cluster.ts'

export interface SoakLoadOptions {
  readonly writesPerSecond: number
}

const namespace = 'default'
/** A ConfigMap is deleted after as many others were created. */
const configMapsKept = 2_000
/** Long enough that the creation has ended. */
const turnsToPatch = 100
const podsKept = 8
const podMs = 6_000
const watches = 20
const watchMs = 45_000
const execMs = 2_000
const listMs = 1_000

const noCounts = { writes: 0, pods: 0, watches: 0, events: 0, execs: 0, lists: 0, failures: 0 }

export class SoakLoad {
  readonly #cluster: LastingCluster
  readonly #options: SoakLoadOptions
  readonly #counts = { ...noCounts }

  constructor(cluster: LastingCluster, options: SoakLoadOptions) {
    this.#cluster = cluster
    this.#options = options
  }

  counts(): typeof noCounts {
    return { ...this.#counts }
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#repeat(1_000 / this.#options.writesPerSecond, signal, number => this.#write(number)),
      this.#repeat(podMs, signal, number => this.#replacePod(number)),
      this.#repeat(execMs, signal, () => this.#exec()),
      this.#repeat(listMs, signal, number => this.#list(number)),
      ...Array.from({ length: watches }, (_, number) => this.#watchAgain(number, signal)),
    ])
  }

  /** Begins at fixed times, whether or not the one before has ended. */
  async #repeat(
    everyMs: number,
    signal: AbortSignal,
    work: (number: number) => Promise<void>,
  ): Promise<void> {
    const startedMs = performance.now()
    const running = new Set<Promise<void>>()
    for (let number = 0; !signal.aborted; number++) {
      const waitMs = startedMs + number * everyMs - performance.now()
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) break
      const one: Promise<void> = work(number)
        .catch((error: unknown) => this.#fail(error))
        .finally(() => running.delete(one))
      running.add(one)
    }
    await Promise.all(running)
  }

  /** Of three writes, one creates, one patches, one deletes. */
  async #write(number: number): Promise<void> {
    const { client } = this.#cluster
    const turn = Math.floor(number / 3)
    const nameOf = (index: number): string => `soak-${index}`
    switch (number % 3) {
      case 0: {
        const metadata = { namespace, name: nameOf(turn), labels: { shard: String(turn % 10) } }
        await client.create(configMaps, { metadata, data: { text: 'x'.repeat(500) } })
        break
      }
      case 1: {
        if (turn < turnsToPatch) return
        const target = { namespace, name: nameOf(turn - turnsToPatch) }
        await client.patch(configMaps, target, { type: 'merge', patch: { data: { turn: String(turn) } } })
        break
      }
      default: {
        if (turn < configMapsKept) return
        await client.delete(configMaps, { namespace, name: nameOf(turn - configMapsKept) })
      }
    }
    this.#counts.writes++
  }

  async #replacePod(number: number): Promise<void> {
    const { client } = this.#cluster
    await client.create(pods, podOf(`soak-${number}`))
    this.#counts.pods++
    if (number >= podsKept) await client.delete(pods, { namespace, name: `soak-${number - podsKept}` })
  }

  async #exec(): Promise<void> {
    // The oldest pods may be deleted meanwhile.
    const ready = (await this.#cluster.pods()).filter(isReady)
    const name = ready.toSorted(ageOrder).at(-1)?.metadata.name
    if (name === undefined) return
    await this.#cluster.exec(name, ['sh', '-c', 'echo here'])
    this.#counts.execs++
  }

  async #list(number: number): Promise<void> {
    const selectors = [
      {},
      { labelSelector: `shard=${number % 10}` },
      { fieldSelector: 'metadata.name=soak-1' },
    ]
    await this.#cluster.client.listAll(configMaps, { namespace, ...selectors[number % selectors.length] })
    this.#counts.lists++
  }

  async #watchAgain(number: number, signal: AbortSignal): Promise<void> {
    // Watches begin one after the other.
    await sleep((number * watchMs) / watches, undefined, { signal }).catch(() => undefined)
    while (!signal.aborted) {
      const end = AbortSignal.any([signal, AbortSignal.timeout(watchMs)])
      const kind = number % 2 === 0 ? configMaps : pods
      try {
        for await (const _ of this.#cluster.client.watch<Pod>(kind as typeof pods, {
          namespace,
          signal: end,
        }))
          this.#counts.events++
      } catch (error) {
        if (!end.aborted) this.#fail(error)
      }
      this.#counts.watches++
    }
  }

  #fail(error: unknown): void {
    this.#counts.failures++
    if (this.#counts.failures <= failuresShown) console.error('failed:', error)
  }
}

const failuresShown = 20

function ageOrder(left: Pod, right: Pod): number {
  return (left.metadata.creationTimestamp ?? '').localeCompare(right.metadata.creationTimestamp ?? '')
}

function podOf(name: string): Pod {
  const command = ['sh', '-c', 'trap "exit 0" TERM; while true; do echo line; sleep 1; done & wait']
  const container = { name: 'main', image: 'busybox', imagePullPolicy: 'IfNotPresent', command }
  return {
    metadata: { namespace, name },
    spec: { terminationGracePeriodSeconds: 5, containers: [container] },
  }
}
