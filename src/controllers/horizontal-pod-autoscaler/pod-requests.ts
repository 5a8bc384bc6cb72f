import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import { quantityMilliValue, tryParseQuantity, zeroQuantity } from '#/api/text/quantity.ts'

/** Requests of a resource by pod, or by one container of each pod, in thousandths; or an error message. */
export function requestsOf(
  pods: readonly Stored<Pod>[],
  resource: string,
  container: string | undefined,
): ReadonlyMap<string, bigint> | string {
  const requests = new Map<string, bigint>()
  for (const pod of pods) {
    const request = requestOf(pod, resource, container)
    if (typeof request === 'string') return request
    requests.set(pod.metadata.name, request)
  }
  return requests
}

function requestOf(pod: Stored<Pod>, resource: string, container: string | undefined): bigint | string {
  const name = pod.metadata.name
  const { spec } = pod
  if (container === undefined && Object.keys(spec?.resources?.requests ?? {}).length > 0 && spec) {
    const request = podRequests(spec).get(resource)
    return request === undefined
      ? `missing pod-level request for ${resource} in Pod ${name}`
      : quantityMilliValue(request)
  }
  const sidecars = spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always') ?? []
  const running = [...(spec?.containers ?? []), ...sidecars]
  const counted = container === undefined ? running : running.filter(each => each.name === container)
  if (container !== undefined && counted.length === 0)
    return `container ${container} not found in Pod ${name}`
  let sum = 0n
  for (const { name: containerName, resources } of counted) {
    const request = resources?.requests?.[resource]
    if (request === undefined) {
      return `missing request for ${resource} in container ${containerName} of Pod ${name}`
    }
    sum += quantityMilliValue(tryParseQuantity(request) ?? zeroQuantity)
  }
  return sum
}
