import { X509Certificate } from 'node:crypto'
import type { HistogramSeries, MetricsRegistry, ScalarSeries } from '#/base/metrics.ts'
import type { Clock } from '#/platform/platform.ts'
import { defineMetrics } from './define-metrics.ts'

/** A minute to four years. */
const lifetimeBuckets = [
  60, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
]

/**
 * The certificates of the kubelet. As a part of the cluster's process it has no client certificate, and its serving
 * certificate is signed without a request.
 */
export class CertificateMetrics {
  readonly serverRenewErrors: ScalarSeries
  readonly clientRenewErrors: ScalarSeries
  readonly #serverRotation: HistogramSeries
  #server: Expiry | undefined
  #client: Expiry | undefined
  #usedSinceMs = 0

  constructor(registry: MetricsRegistry) {
    const { counter, histogram } = defineMetrics(registry)
    this.serverRenewErrors = counter(
      'kubelet_server_expiration_renew_errors',
      'Failed renewals of the serving certificate.',
    ).with()
    this.clientRenewErrors = counter(
      'kubelet_certificate_manager_client_expiration_renew_errors',
      'Failed renewals of the client certificate.',
    ).with()
    this.#serverRotation = histogram(
      'kubelet_certificate_manager_server_rotation_seconds',
      'Time for which a serving certificate was used before it was replaced.',
      { buckets: lifetimeBuckets },
    ).with()
    const ttl = 'Time until the certificate expires; infinite if there is none.'
    this.#addTtl(registry, ['kubelet_certificate_manager_server_ttl_seconds', ttl], () =>
      ttlSeconds(this.#server),
    )
    this.#addTtl(registry, ['kubelet_certificate_manager_client_ttl_seconds', ttl], () =>
      ttlSeconds(this.#client),
    )
  }

  /** The certificate that the server uses from now on, in PEM. */
  useServer(pem: string, clock: Clock): void {
    const nowMs = clock.monotonicMs()
    if (this.#server !== undefined) this.#serverRotation.observe((nowMs - this.#usedSinceMs) / 1_000)
    this.#server = expiryOf(pem, clock)
    this.#usedSinceMs = nowMs
  }

  /** The client certificate that is used from now on, in PEM. */
  useClient(pem: string, clock: Clock): void {
    this.#client = expiryOf(pem, clock)
  }

  #addTtl(
    registry: MetricsRegistry,
    [name, help]: readonly [name: string, help: string],
    read: () => number,
  ): void {
    registry.callbackMetric({ name, help, type: 'gauge', stability: 'ALPHA', read: () => [[[], read()]] })
  }
}

interface Expiry {
  readonly expiresMs: number
  readonly clock: Clock
}

function expiryOf(pem: string, clock: Clock): Expiry {
  return { expiresMs: new X509Certificate(pem).validToDate.getTime(), clock }
}

function ttlSeconds(expiry: Expiry | undefined): number {
  return expiry === undefined ? Infinity : (expiry.expiresMs - expiry.clock.now()) / 1_000
}
