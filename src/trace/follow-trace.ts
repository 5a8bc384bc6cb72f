/** Follows the chain of an object as it happens: the latest one, and then each new one that a client begins. */
import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'
import type { RawClient } from '#/client/client.ts'
import { listWrites } from '#/client/list-writes.ts'
import type { Clock } from '#/platform/platform.ts'
import { collectTrace, type CollectOptions } from './collect-trace.ts'
import { FollowedWrites } from './collect/followed-writes.ts'
import { targetOf, type TracedObject } from './collect/read-own-writes.ts'
import { readPasses } from './collect/read-passes.ts'
import { readUnsettledPods } from './collect/unsettled-pods.ts'
import { planTrace } from './plan-trace.ts'
import type { Trace } from './trace.ts'

type FollowClock = Pick<Clock, 'now' | 'monotonicMs' | 'sleep'>

export interface FollowOptions extends CollectOptions {
  readonly clock: FollowClock
  /** Called with the trace so far whenever it has more hops. It may have another root than before. */
  readonly onTrace: (trace: Trace) => void
  /** Called when the chain is quiet and its pods are not ready yet: `pod shop/web-0: not scheduled`. */
  readonly onWait?: (unsettled: readonly string[]) => void
  /** Ends when the chain has had no new hop for so long, unless some of its pods are not ready yet. */
  readonly quietMs: number
}

/** Waits for the object if it does not exist. Resolves when the chain is quiet. Throws NoHistoryError. */
export async function followTrace(
  client: RawClient,
  object: TracedObject,
  options: FollowOptions,
): Promise<void> {
  const { clock, signal } = options
  // Read first: the object may be created meanwhile.
  const beganAt = await currentRevision(client, clock)
  const first = await collectTrace(client, object, options)
  if (first !== undefined) options.onTrace(first)
  const ended = new AbortController()
  const stop = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])
  const after = first === undefined ? beganAt : (first.root.revision ?? 1) - 1
  const { writes } = await listWrites(client, { after, follow: true, signal: stop })
  const arrived: WriteRecord[] = []
  const reading = readAll(writes, arrived)
  try {
    const follower = new Follower(client, object, options)
    if (first !== undefined) follower.begin(first)
    await Promise.race([reading.then(() => undefined), follower.run(arrived, stop)])
  } finally {
    ended.abort()
    await reading.catch(() => undefined)
  }
}

const batchMs = 200
/** Passes are not streamed. */
const passesMs = 1_000
const unsettledCheckMs = 5_000
/** Hops after a longer quiet time are not part of the chain. */
const unsettledMsMax = 600_000

class Follower {
  readonly #client: RawClient
  readonly #options: FollowOptions
  readonly #writes: FollowedWrites
  readonly #target: Trace['target']
  #passes: readonly EndedPass[] = []
  #trace: Trace | undefined
  #changedMs: number
  #passesReadMs = 0
  #unsettled: readonly string[] = []
  #unsettledReadMs = -Infinity

  constructor(client: RawClient, object: TracedObject, options: FollowOptions) {
    this.#client = client
    this.#options = options
    this.#target = targetOf(object)
    this.#writes = new FollowedWrites(this.#target)
    this.#changedMs = options.clock.monotonicMs()
  }

  begin(trace: Trace): void {
    this.#trace = trace
    if (trace.root.revision !== undefined) this.#writes.followRoot(trace.root.revision)
  }

  /** Until the chain is quiet and its pods are settled. */
  async run(arrived: WriteRecord[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    while (!(await this.#isOver(signal))) {
      await clock.sleep(batchMs, signal)
      let isChanged = false
      for (const write of arrived.splice(0)) isChanged = this.#writes.add(write) || isChanged
      if (await this.#readPasses(signal)) isChanged = true
      if (isChanged) this.#plan()
    }
  }

  async #isOver(signal: AbortSignal): Promise<boolean> {
    if (this.#trace === undefined) return false
    const { clock, quietMs, onWait } = this.#options
    const nowMs = clock.monotonicMs()
    const quietForMs = nowMs - this.#changedMs
    if (quietForMs >= Math.max(quietMs, unsettledMsMax)) return true
    if (quietForMs < (onWait === undefined ? quietMs : Math.min(quietMs, unsettledCheckMs))) return false
    if (nowMs - this.#unsettledReadMs >= unsettledCheckMs) {
      this.#unsettledReadMs = nowMs
      await this.#readUnsettled(this.#trace, signal)
    }
    return quietForMs >= quietMs && this.#unsettled.length === 0
  }

  async #readUnsettled({ hops }: Trace, signal: AbortSignal): Promise<void> {
    const before = this.#unsettled
    this.#unsettled = await readUnsettledPods(this.#client, hops, signal)
    const isSame = before.join() === this.#unsettled.join()
    if (!isSame && this.#unsettled.length > 0) this.#options.onWait?.(this.#unsettled)
  }

  #plan(): void {
    const { atRevision, isComplete, onTrace, clock } = this.#options
    const input = { writes: this.#writes.all(), passes: this.#passes, atRevision, isComplete }
    const trace = planTrace({ ...input, target: this.#target })
    if (trace === undefined) return
    const before = this.#trace
    this.#trace = trace
    if (trace.root.revision !== undefined) this.#writes.followRoot(trace.root.revision)
    if (trace.root.id === before?.root.id && trace.hops.length <= before.hops.length) return
    this.#changedMs = clock.monotonicMs()
    onTrace(trace)
  }

  async #readPasses(signal: AbortSignal): Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#trace === undefined || nowMs - this.#passesReadMs < passesMs) return false
    this.#passesReadMs = nowMs
    const { hops, startedMs } = this.#trace
    const nodes = [...new Set(hops.flatMap(({ node }) => node ?? []))]
    const { passes } = await readPasses(this.#client, { afterMs: startedMs, nodes, signal })
    const isChanged = passes.length !== this.#passes.length
    this.#passes = passes
    return isChanged
  }
}

async function readAll(writes: AsyncIterable<WriteRecord>, arrived: WriteRecord[]): Promise<void> {
  for await (const write of writes) arrived.push(write)
}

async function currentRevision(client: RawClient, clock: FollowClock): Promise<number> {
  const { revision, writes } = await listWrites(client, { sinceMs: clock.now(), limit: 1 })
  await writes.return()
  return revision
}
