/**
 * Metrics of pods that do not really run: what a pod says of itself in the annotations
 * `simulated.k8ts.io/cpu` and `simulated.k8ts.io/memory` is what it uses, and nothing when it does not say.
 * With it autoscaling can be seen on simulated nodes. There are no custom and no external metrics here.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { quantityMilliValue, tryParseQuantity, zeroQuantity } from '#/api/quantity.ts'
import type { ControllerContext } from './controller.ts'
import type { Metrics, Sample } from './horizontal-pod-autoscaler/metrics.ts'

const annotationPrefix = 'simulated.k8ts.io/'

export function annotatedUsage({ platform, informer }: ControllerContext): Metrics {
  const allPods = informer(pods)
  return {
    resource: async ({ namespace, selector, resource, container }) => {
      const sample = (milliValue: bigint): Sample => {
        return { milliValue, atMs: platform.clock.now(), windowMs: 0 }
      }
      return new Map(
        allPods
          .inNamespace(namespace)
          .filter(pod => pod.status?.phase === 'Running' && selector.matches(pod.metadata?.labels))
          .filter(pod => container === undefined || containersOf(pod).includes(container))
          .map(pod => [pod.metadata?.name ?? '', sample(usageOf(pod, resource, container))]),
      )
    },
    pods: () => refuse('custom'),
    object: () => refuse('custom'),
    external: () => refuse('external'),
  }
}

/** One container uses its equal part of what the pod does. */
function usageOf(pod: Pod, resource: string, container: string | undefined): bigint {
  const text = pod.metadata?.annotations?.[`${annotationPrefix}${resource}`] ?? '0'
  const whole = quantityMilliValue(tryParseQuantity(text) ?? zeroQuantity)
  return container === undefined ? whole : whole / BigInt(containersOf(pod).length)
}

function containersOf({ spec }: Pod): readonly string[] {
  const sidecars = spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? []
  return [...(spec?.containers ?? []), ...sidecars].map(({ name }) => name)
}

function refuse(api: string): Promise<never> {
  const message = `unable to fetch metrics from ${api} metrics API: simulated nodes have none`
  return Promise.reject(new Error(message))
}
