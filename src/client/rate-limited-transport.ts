/** A transport that delays requests above a rate: `--kube-api-qps` and `--kube-api-burst`. Watches are not limited. */
import { TokenBucket, type BucketLimits } from '#/base/token-bucket.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Transport } from './transport.ts'

export function rateLimitedTransport(transport: Transport, clock: Clock, limits: BucketLimits): Transport {
  const bucket = new TokenBucket(limits, clock.monotonicMs())
  return {
    async request(request) {
      const delayMs = request.query.has('watch') ? 0 : bucket.reserve(clock.monotonicMs())
      if (delayMs > 0) await clock.sleep(delayMs, request.signal)
      return transport.request(request)
    },
  }
}
