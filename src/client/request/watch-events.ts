import type { KubernetesObject } from '#/api/metadata.ts'
import type { Clock } from '#/platform/platform.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { WatchEvent } from '../client.ts'
import { TransportError, type TransportResponse } from '../transport.ts'
import { statusError } from './response.ts'
import { Watchdog } from './watchdog.ts'

export interface WatchRequest {
  readonly send: (signal: AbortSignal) => Promise<TransportResponse>
  readonly clock: Clock
  readonly idleTimeoutMs: number | undefined
  readonly signal: AbortSignal | undefined
}

/** Sends the request when the iteration begins, and closes the watch when the iteration ends in any way. */
export async function* watchEvents<T extends KubernetesObject>(
  request: WatchRequest,
): AsyncGenerator<readonly WatchEvent<T>[], void, undefined> {
  const { clock, idleTimeoutMs = Infinity } = request
  using abort = new LinkedAbort(request.signal)
  try {
    const response = await request.send(abort.signal)
    const onIdle = (): void =>
      abort.abort(new TransportError('stalled', `no watch event within ${idleTimeoutMs} ms`))
    using watchdog = new Watchdog(clock, idleTimeoutMs, onIdle)
    for await (const values of response.events()) {
      watchdog.reset()
      if (values.length > 0) yield* readBatch<T>(values)
      // Excludes the time that the consumer took.
      watchdog.reset()
    }
  } finally {
    abort.abort(new Error('watch closed'))
  }
}

/** Yields the valid events before the error is thrown. */
function* readBatch<T extends KubernetesObject>(
  values: readonly unknown[],
): Generator<readonly WatchEvent<T>[], void, undefined> {
  const wrong = values.findIndex(value => !isEvent(value))
  if (wrong === -1) return yield values as readonly WatchEvent<T>[]
  if (wrong > 0) yield values.slice(0, wrong) as readonly WatchEvent<T>[]
  const value = values[wrong] as { readonly type?: unknown; readonly object?: unknown } | null
  if (value?.type === 'ERROR') throw statusError(value.object)
  throw new TransportError('invalid-response', 'invalid watch event')
}

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])

/** True if the value is a valid watch event. Events without a resourceVersion are useless for a watch. */
function isEvent(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { type, object } = value as { readonly type?: unknown; readonly object?: Partial<KubernetesObject> }
  return (
    types.has(type) &&
    typeof object === 'object' &&
    object !== null &&
    typeof object.metadata?.resourceVersion === 'string' &&
    (type === 'BOOKMARK' || (typeof object.metadata.name === 'string' && object.metadata.name !== ''))
  )
}
