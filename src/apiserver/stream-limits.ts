/**
 * Bounds the long-running requests that are forwarded to kubelets, pods and services. Priority and fairness exempts
 * them, but each holds two connections and their buffers.
 */
import { tooManyRequests } from '#/api/errors.ts'
import { KeyedLimits, type KeyedLimitsOptions } from '#/base/keyed-limits.ts'
import { isLongRunning } from './flow-control/max-in-flight.ts'
import { onUpgradeEnd } from './on-upgrade-end.ts'
import type { Stage } from './pipeline.ts'
import type { ApiResponse, StreamBody, StreamChunk } from './request.ts'

const usualLimits: KeyedLimitsOptions = { perKey: 512, total: 4_096 }

const retryAfterSeconds = 1

/** A request counts until its response has been read, or its connection has ended. The key is the user. */
export function limitStreams(options = usualLimits): Stage {
  const limits = new KeyedLimits(options)
  const limited: Stage = async (context, next) => {
    const stream = limits.enter(context.user.username)
    if (stream === undefined) {
      const bounds = `${options.perKey} per user and ${options.total} in total are allowed`
      const message = `too many exec, attach, port-forward, log and proxy requests: ${bounds}, try again later`
      throw tooManyRequests(message, retryAfterSeconds)
    }
    const end = (): void => stream[Symbol.dispose]()
    try {
      const response = await next(context)
      if (response.body?.type === 'upgrade') return { ...response, body: onUpgradeEnd(response.body, end) }
      if (response.body?.type !== 'stream') end()
      else {
        // The client may disconnect before the stream is read.
        context.request.signal.addEventListener('abort', end, { once: true })
        return onStreamEnd(response, response.body, end)
      }
      return response
    } catch (error) {
      end()
      throw error
    }
  }
  return (context, next) => (isLongRunning(context.info) ? limited(context, next) : next(context))
}

function onStreamEnd(response: ApiResponse, body: StreamBody, onEnd: () => void): ApiResponse {
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    try {
      yield* body.chunks
    } finally {
      onEnd()
    }
  }
  return { ...response, body: { ...body, chunks: chunks() } }
}
