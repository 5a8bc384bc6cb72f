import { StoreError } from '../store.ts'
import { storeErrorOf, type EtcdClient } from './client.ts'
import { firstKey } from './keys.ts'
import { WatchResponse } from '../etcd-messages.ts'

/**
 * etcd reports its compacted revision only to a watch that starts before it. Therefore this first checks if
 * revision 1 is still readable.
 */
export async function readCompactedRevision(client: EtcdClient): Promise<number> {
  try {
    await client.range({ key: firstKey, countOnly: true, revision: 1 })
    return client.knownCompacted
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
  }
  const deadline = client.clock.monotonicMs() + client.requestTimeoutMs
  for (let failures = 0; ; failures++) {
    try {
      return await compactedByWatch(client)
    } catch (error) {
      client.closing.throwIfAborted()
      if (client.clock.monotonicMs() >= deadline) throw storeErrorOf(error)
    }
    await client.backoff(failures)
  }
}

async function compactedByWatch(client: EtcdClient): Promise<number> {
  const stream = client.watch({ key: firstKey, startRevision: 1 }, client.closing)
  const timer = client.clock.setTimer(client.attemptTimeoutMs, () => stream.abandonTarget())
  try {
    for await (const bytes of stream) {
      const { compactRevision } = WatchResponse.decode(bytes)
      if (compactRevision === 0) continue
      client.noteCompacted(compactRevision)
      return client.knownCompacted
    }
    throw new StoreError('unavailable', 'etcd closed the watch early')
  } finally {
    timer.cancel()
  }
}
