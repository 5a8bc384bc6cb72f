import { useEffect, useState } from 'preact/hooks'
import { followTrace } from '#/trace/follow-trace.ts'
import type { Trace } from '#/trace/trace.ts'
import { resourceId, type ApiResource, type ObjectKey } from '../data/api-resource.ts'
import { isWithoutHistory } from '../history/no-history.ts'
import { traceClient } from './trace-client.ts'

export interface TraceState {
  readonly phase: 'loading' | 'live' | 'reconnecting' | 'no-history'
  /** Undefined until a write of the object is recorded. */
  readonly trace: Trace | undefined
  readonly error: Error | undefined
}

export interface TracedKey extends ObjectKey {
  readonly resource: ApiResource
  /** The chain that this write is part of, instead of the latest one. */
  readonly atRevision?: number | undefined
}

const loading: TraceState = { phase: 'loading', trace: undefined, error: undefined }
/** Until the trace of an object without recorded writes counts as read. */
const patienceMs = 1_500
const retryMs = 2_000
const retryMaxMs = 30_000

/** The chain of an object, current while the component is mounted. */
export function useTrace(key: TracedKey): TraceState {
  const { resource, namespace, name, atRevision } = key
  const [state, setState] = useState(loading)
  useEffect(() => {
    const ended = new AbortController()
    setState(loading)
    const change = (changes: Partial<TraceState>): void => {
      if (!ended.signal.aborted) setState(before => ({ ...before, ...changes }))
    }
    void follow(key, { signal: ended.signal, change })
    const timer = setTimeout(() => {
      if (!ended.signal.aborted)
        setState(before => (before.phase === 'loading' ? { ...before, phase: 'live' } : before))
    }, patienceMs)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [resourceId(resource), namespace, name, atRevision])
  return state
}

interface FollowContext {
  readonly signal: AbortSignal
  readonly change: (changes: Partial<TraceState>) => void
}

async function follow(key: TracedKey, { signal, change }: FollowContext): Promise<void> {
  const { resource, namespace, name, atRevision } = key
  const { group, version, kind, resource: plural, singular } = resource
  const scope = resource.namespaced ? ('Namespaced' as const) : ('Cluster' as const)
  const traced = {
    resource: { group, version, kind, plural, singular, scope },
    ...(namespace !== '' && { namespace }),
    name,
  }
  const onTrace = (trace: Trace): void => change({ phase: 'live', trace, error: undefined })
  for (let delayMs = retryMs; !signal.aborted; delayMs = Math.min(2 * delayMs, retryMaxMs)) {
    try {
      await followTrace(traceClient, traced, { clock, signal, atRevision, quietMs: Infinity, onTrace })
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (isWithoutHistory(error)) {
        change({ phase: 'no-history', error })
        return
      }
      change({ phase: 'reconnecting', error })
    }
    await clock.sleep(delayMs, signal).catch(() => undefined)
  }
}

const clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (delayMs: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = (): void => reject(new DOMException('aborted', 'AbortError'))
    const timer = setTimeout(resolve, delayMs)
    signal?.addEventListener('abort', stop)
    await promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    })
  },
}
