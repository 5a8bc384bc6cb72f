import { useEffect, useState } from 'preact/hooks'
import type { WriteRecord } from '#/api/write-record.ts'
import { errorText } from '../data/api-error.ts'
import { nextFrame } from '../data/next-frame.ts'
import { isWithoutHistory } from './no-history.ts'
import { streamWrites } from './stream-writes.ts'

export interface Changes {
  readonly phase: 'loading' | 'live' | 'no-history' | 'failed'
  /** Wall times of writes, ascending. */
  readonly timesMs: readonly number[]
  /** Start of the history that is kept. */
  readonly sinceMs: number
  readonly message?: string
}

export interface ChangesQuery {
  /** Empty for all. */
  readonly namespace: string
  readonly spanMs: number
}

const loading: Changes = { phase: 'loading', timesMs: [], sinceMs: 0 }
const changesMax = 5_000

/** When something changed, as it happens. Nothing is read without a query. */
export function useChanges(query: ChangesQuery | undefined): Changes {
  const [changes, setChanges] = useState(loading)
  useEffect(() => {
    if (query === undefined) return undefined
    const ended = new AbortController()
    setChanges(loading)
    const timesMs: number[] = []
    let sinceMs = 0
    let isRequested = false
    const publish = (): void => {
      if (isRequested) return
      isRequested = true
      nextFrame(() => {
        isRequested = false
        if (!ended.signal.aborted) setChanges({ phase: 'live', timesMs: [...timesMs], sinceMs })
      })
    }
    const read = async (): Promise<void> => {
      const { namespace, spanMs } = query
      const options = { namespace, sinceMs: Date.now() - spanMs, follow: true, signal: ended.signal }
      for await (const batch of streamWrites(options)) {
        if ('header' in batch) sinceMs = Date.parse(batch.header.retainedSince.time)
        else timesMs.push(...batch.writes.filter(isOfInterest).map(({ timeMs }) => timeMs))
        timesMs.splice(0, timesMs.length - changesMax)
        publish()
      }
    }
    read().catch((error: unknown) => {
      if (ended.signal.aborted) return
      const phase = isWithoutHistory(error) ? 'no-history' : 'failed'
      setChanges({ phase, timesMs: [...timesMs], sinceMs, message: errorText(error) })
    })
    return () => ended.abort()
  }, [query?.namespace, query?.spanMs])
  return query === undefined ? loading : changes
}

/** Events report on changes; leases are heartbeats. */
export function isOfInterest({ object: { resource } }: WriteRecord): boolean {
  return resource !== 'events' && resource !== 'leases'
}
