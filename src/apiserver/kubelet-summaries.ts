/**
 * Resource usage of nodes and pods from the kubelets' summary API. A kubelet is called on demand, and its
 * response is cached for a few seconds.
 */
import { readAll } from '#/base/read-all.ts'
import { LruMap } from '#/base/lru-map.ts'
import { simulatedPodUsage, simulatedUsage, sumOfUsage } from '#/api/core/simulated-usage.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Clock, Log } from '#/platform/platform.ts'
import { readSummary, type KubeletSummary } from './kubelet-summaries/read-summary.ts'
import type { Kubelets } from './kubelets.ts'

export type { KubeletSummary, ResourceUse } from './kubelet-summaries/read-summary.ts'

export interface KubeletSummariesOptions {
  readonly kubelets: Kubelets
  readonly clock: Clock
  readonly log: Log
}

/** Cache TTL. */
const freshMs = 5_000

/** A node that does not respond in time is omitted. */
const timeoutMs = 10_000

const summaryBytesMax = 16 * 1024 * 1024

/** Maximum number of kubelets called in parallel. */
const askedMax = 32

/** Maximum number of cached nodes; the least recently used one is evicted. */
const keptMax = 5_000

const path = '/stats/summary?only_cpu_and_memory=true'

export class KubeletSummaries {
  readonly #options: KubeletSummariesOptions
  readonly #kept = new LruMap<string, { readonly atMs: number; readonly answer: Promise<Answer> }>(keptMax)

  constructor(options: KubeletSummariesOptions) {
    this.#options = options
  }

  /** By node name; nodes without a response are missing. */
  async of(nodeNames: readonly string[]): Promise<ReadonlyMap<string, KubeletSummary>> {
    const found = new Map<string, KubeletSummary>()
    const waiting = [...nodeNames]
    const ask = async (): Promise<void> => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        const answer = await this.#answerOf(name)
        if (answer !== undefined) found.set(name, answer)
      }
    }
    await Promise.all(Array.from({ length: Math.min(askedMax, waiting.length) }, ask))
    return found
  }

  #answerOf(nodeName: string): Promise<Answer> {
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    const kept = this.#kept.get(nodeName)
    if (kept !== undefined && nowMs - kept.atMs < freshMs) return kept.answer
    const answer = this.#ask(nodeName)
    this.#kept.set(nodeName, { atMs: nowMs, answer })
    return answer
  }

  /** Never rejects. */
  async #ask(nodeName: string): Promise<Answer> {
    const { kubelets, clock, log } = this.#options
    const late = new AbortController()
    const timer = clock.setTimer(timeoutMs, () => late.abort(new Error(`timed out after ${timeoutMs} ms`)))
    try {
      const { client } = await kubelets.of(nodeName)
      const { status, body } = await client.request({ method: 'GET', path, signal: late.signal })
      const bytes = await readAll(body, summaryBytesMax)
      if (status !== 200) throw new Error(`kubelet returned status ${status}`)
      return readSummary(JSON.parse(bytes.toString()))
    } catch (error) {
      log.info('failed to fetch node summary', { node: nodeName, error })
      return undefined
    } finally {
      timer.cancel()
    }
  }
}

type Answer = KubeletSummary | undefined

/** Summary of a simulated node. */
export function simulatedSummary(running: readonly Stored<Pod>[]): KubeletSummary {
  return {
    node: sumOfUsage(running.map(simulatedPodUsage)),
    pods: new Map(running.map(pod => [pod.metadata.uid, simulatedUsage(pod)])),
  }
}
