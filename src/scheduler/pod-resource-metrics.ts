/** The metrics at `/metrics/resources`: requests and limits of all pods that are not terminal. */
import { aggregatePodResources, podRequests } from '#/api/core/pod-resources.ts'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { addQuantities, isZeroQuantity, parseQuantity, quantityToNumber } from '#/api/text/quantity.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { withResizeRequests } from './resize-requests.ts'

type Amounts = ReturnType<typeof podRequests>

const labels = ['namespace', 'pod', 'node', 'scheduler', 'priority', 'resource', 'unit']

/** `list` is called at each scrape. */
export function podResourceMetrics(list: () => Iterable<Stored<Pod>>): MetricsRegistry {
  const registry = new MetricsRegistry()
  const add = (name: string, help: string, amountsOf: (pod: Pod) => Amounts): void => {
    registry.callbackMetric({
      name,
      help,
      type: 'gauge',
      stability: 'STABLE',
      labels,
      *read() {
        for (const pod of list()) if (!isTerminal(pod)) yield* samplesOf(pod, amountsOf(pod))
      },
    })
  }
  add('kube_pod_resource_request', 'Resources that the pod requests, with its overhead.', pod =>
    podRequests(withResizeRequests(pod)),
  )
  add('kube_pod_resource_limit', 'Resource limits of the pod, with its overhead.', ({ spec }) =>
    spec === undefined ? new Map() : podLimits(spec),
  )
  return registry
}

function* samplesOf(
  { metadata, spec }: Stored<Pod>,
  amounts: Amounts,
): Generator<readonly [string[], number], void, undefined> {
  const { namespace = '', name } = metadata
  const { nodeName = '', schedulerName = '', priority } = spec ?? {}
  for (const [resource, amount] of amounts) {
    if (isZeroQuantity(amount)) continue
    const owner = [namespace, name, nodeName, schedulerName, priority === undefined ? '' : String(priority)]
    yield [[...owner, resource, unitOf(resource)], quantityToNumber(amount)]
  }
}

/** The overhead counts only for resources with a limit. */
function podLimits(spec: PodSpec): Amounts {
  const sums = new Map(aggregatePodResources(spec, 'limits'))
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    const limit = sums.get(name)
    if (limit !== undefined && !isZeroQuantity(limit))
      sums.set(name, addQuantities(limit, parseQuantity(text)))
  }
  return sums
}

/** A pod without a node cannot be terminal. */
function isTerminal({ spec, status }: Pod): boolean {
  return Boolean(spec?.nodeName) && (status?.phase === 'Succeeded' || status?.phase === 'Failed')
}

function unitOf(resource: string): string {
  if (resource === 'cpu') return 'cores'
  if (resource === 'memory' || resource === 'storage' || resource === 'ephemeral-storage') return 'bytes'
  if (resource.startsWith('hugepages-')) return 'bytes'
  return resource.startsWith('attachable-volumes-') ? 'integer' : ''
}
