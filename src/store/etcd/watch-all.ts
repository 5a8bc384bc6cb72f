import { GrpcError, type GrpcStream } from '#/platform/grpc.ts'
import { StoreError } from '../store.ts'
import type { EtcdClient } from './client.ts'
import { firstKey, type KeySpace } from './keys.ts'
import { WatchResponse } from '../etcd-messages.ts'
import { RevisionAssembler, type Change } from './revision-assembler.ts'

/**
 * Yields all changes in etcd after a revision: each revision once, complete and in order. Broken connections
 * and members that hang are handled internally by switching members. Throws StoreError `compacted` when
 * changes are no longer available, and the signal's reason when it is aborted.
 *
 * It is a single watch over all keys, because only that shows its progress: each revision has an event. A
 * watch of fewer keys would need progress requests, and etcd before 3.4.25 and 3.5.8 answers them with
 * revisions that still have undelivered events.
 */
export async function* watchAll(
  client: EtcdClient,
  keys: KeySpace,
  options: WatchAllOptions,
): AsyncGenerator<readonly Change[], void, undefined> {
  const { signal } = options
  let position = Math.max(options.afterRevision, emptyRevision)
  let missing = 0
  for (let failures = 0; ; failures++) {
    const patienceMs = Math.min(patience.firstMs * 2 ** failures, patience.mostMs)
    try {
      for await (const changes of connection(client, keys, { afterRevision: position, signal, patienceMs })) {
        failures = 0
        missing = 0
        position = changes.at(-1)?.revision ?? position
        yield changes
      }
      client.log.info('etcd closed the watch', { revision: position })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof StoreError && error.reason === 'compacted') throw error
      const fields = { revision: position, cause: String(error) }
      if (failures === 0) client.log.info('etcd watch failed', fields)
      if (error instanceof MissingRevision && ++missing > missingMax) throw compacted(position, error)
      if (error instanceof SilentStream) await rejectCompacted(client, position)
    }
    await client.backoff(failures, signal)
  }
}

/** The revision of an empty etcd: the only one without an event. */
export const emptyRevision = 1

export interface WatchAllOptions {
  readonly afterRevision: number
  readonly signal: AbortSignal
}

/**
 * A member that lets this time pass twice without delivering known revisions is abandoned. The time grows
 * with each failure, since a member may need longer to read a long history.
 */
const patience = { firstMs: 1_000, mostMs: 30_000 }

/** Maximum number of consecutive attempts with a missing revision before it counts as lost. */
const missingMax = 2

class MissingRevision extends Error {}

/** Known revisions were not delivered: the member hangs, or has nothing to deliver. */
class SilentStream extends Error {}

/** As `follow`, until the connection breaks. */
async function* connection(
  client: EtcdClient,
  keys: KeySpace,
  options: WatchAllOptions & { readonly patienceMs: number },
): AsyncGenerator<readonly Change[], void, undefined> {
  const { afterRevision, signal } = options
  const stream = client.watch({ key: firstKey, rangeEnd: firstKey, startRevision: afterRevision + 1 }, signal)
  const assembler = new RevisionAssembler(keys, afterRevision)
  const watchdog = new Watchdog(client, stream, options.patienceMs)
  let position = afterRevision
  let isPast = false
  for await (const bytes of watchdog.guard(() => position)) {
    const response = WatchResponse.decode(bytes)
    const revision = response.header?.revision ?? 0
    if (response.compactRevision > 0) {
      client.noteCompacted(response.compactRevision)
      throw compacted(afterRevision)
    }
    if (response.canceled) throw new GrpcError('unavailable', response.cancelReason, { sent: true })
    if (response.created) isPast = revision > afterRevision
    client.noteRevision(revision)
    const changes = assembler.take(response.events, response.fragment)
    if (changes === undefined) throw new MissingRevision(`revision ${position + 1} is missing`)
    if (changes.length > 0 && isPast) {
      await assertNotCompacted(client, afterRevision)
      isPast = false
    }
    position = changes.at(-1)?.revision ?? position
    if (changes.length > 0) yield changes
  }
}

/**
 * etcd accepts a watch that starts exactly at the compacted revision, although deletions of that revision are
 * already gone. If the previous revision is readable, nothing is missing.
 */
async function assertNotCompacted(client: EtcdClient, revision: number): Promise<void> {
  await client.range({ key: firstKey, countOnly: true, revision })
}

/**
 * If the newest revision is a deletion and has been compacted, a watch that starts there delivers nothing until the
 * next write.
 */
async function rejectCompacted(client: EtcdClient, revision: number): Promise<void> {
  try {
    await assertNotCompacted(client, revision)
  } catch (error) {
    if (error instanceof StoreError && error.reason === 'unavailable') return
    throw error
  }
}

function compacted(revision: number, cause?: Error): StoreError {
  return new StoreError('compacted', `revision ${revision} has been compacted`, { cause })
}

/**
 * Abandons a stream that is silent although newer revisions are known. An open connection may lead to a
 * member that hangs, which gRPC keepalive detects late.
 */
class Watchdog {
  readonly #client: EtcdClient
  readonly #stream: GrpcStream
  readonly #patienceMs: number
  /** The newest revision known at the last check. */
  #expected = 0
  #isAbandoned = false

  constructor(client: EtcdClient, stream: GrpcStream, patienceMs: number) {
    this.#client = client
    this.#stream = stream
    this.#patienceMs = patienceMs
  }

  /** The messages of the stream. Only the time spent waiting for a message counts. */
  async *guard(position: () => number): AsyncGenerator<Uint8Array, void, undefined> {
    const messages = this.#stream[Symbol.asyncIterator]()
    try {
      for (;;) {
        const stop = this.#watch(position)
        const next = await messages.next().finally(stop)
        if (next.done) return
        this.#expected = 0
        yield next.value
      }
    } catch (error) {
      throw this.#isAbandoned
        ? new SilentStream('known revisions were not delivered', { cause: error })
        : error
    } finally {
      this.#stream.cancel()
    }
  }

  #watch(position: () => number): () => void {
    const look = (): void => {
      if (position() < this.#expected) {
        this.#isAbandoned = true
        return this.#stream.abandonTarget()
      }
      this.#expected = this.#client.knownRevision
      timer = this.#client.clock.setTimer(this.#patienceMs, look)
    }
    let timer = this.#client.clock.setTimer(this.#patienceMs, look)
    return () => timer.cancel()
  }
}
