/**
 * Publishes the cluster's CA certificate as the `kube-root-ca.crt` ConfigMap in every namespace, for use by
 * pods.
 */
import type { Clock } from '#/platform/platform.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import { ApiError, isApiError } from '#/api/errors.ts'
import { configMaps, namespaces } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Controller, Reconcile } from './controller.ts'

const name = 'kube-root-ca.crt'

export interface RootCaPublisherSettings {
  /** PEM. */
  readonly caCertificate: string
}

export function rootCaPublisherController({ caCertificate }: RootCaPublisherSettings): Controller {
  return {
    name: 'root-ca-certificate-publisher-controller',
    queueName: 'root_ca_cert_publisher',
    account: 'root-ca-cert-publisher',
    setUp: ({ platform, informer, enqueue, metrics }) => {
      const measured = measuredSync(metrics, platform.clock)
      const spaces = informer(namespaces)
      const maps = informer(configMaps, { fieldSelector: `metadata.name=${name}` })
      spaces.addEventHandler((key, { oldObject, newObject }) => {
        if (newObject !== undefined && oldObject === undefined) enqueue(key)
      })
      maps.addEventHandler(key => enqueue(key.slice(0, key.indexOf('/'))))
      return measured(async ({ key: namespace, client, signal }) => {
        const space = spaces.get(namespace)
        if (space === undefined || isBeingDeleted(space)) return
        const known = maps.get(`${namespace}/${name}`)
        if (known?.data?.['ca.crt'] === caCertificate && Object.keys(known.data).length === 1) return
        const data = { 'ca.crt': caCertificate }
        try {
          if (known === undefined) {
            const metadata = { namespace, name, annotations: { 'kubernetes.io/description': description } }
            await client.create(configMaps, { metadata, data }, { signal })
          } else await client.update(configMaps, { ...known, data }, { signal })
        } catch (error) {
          // It exists but the informer does not show it yet, or the namespace is gone.
          if (!isApiError(error, 'AlreadyExists') && !isApiError(error, 'NotFound')) throw error
        }
      })
    },
  }
}

/** Counts and times reconciles by status code. */
function measuredSync(registry: MetricsRegistry, clock: Clock): (reconcile: Reconcile) => Reconcile {
  const labels = ['code']
  const stability = 'ALPHA'
  const syncs = registry.counter({
    name: 'root_ca_cert_publisher_sync_total',
    help: 'Reconciles of namespaces.',
    labels,
    stability,
  })
  const durations = registry.histogram({
    name: 'root_ca_cert_publisher_sync_duration_seconds',
    help: 'Duration of a reconcile of a namespace.',
    labels,
    buckets: exponentialBuckets(0.001, 2, 15),
    stability,
  })
  return reconcile => async request => {
    const startMs = clock.monotonicMs()
    const end = (code: number): void => {
      syncs.with(String(code)).add()
      durations.with(String(code)).observe((clock.monotonicMs() - startMs) / 1_000)
    }
    try {
      const result = await reconcile(request)
      end(200)
      return result
    } catch (error) {
      end(error instanceof ApiError ? error.code : 500)
      throw error
    }
  }
}

/** Upstream's text of the `kubernetes.io/description` annotation. */
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as ' +
  'the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of ' +
  'Kubernetes clusters.'
