import type { EndpointAddress, Endpoints, EndpointSubset, Pod, Service } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodReady } from '../pods.ts'
import {
  endpointHostname,
  hasEndpoint,
  headlessLabel,
  isHeadless,
  podAddresses,
  targetPort,
} from '../service-endpoints/pod-endpoint.ts'
import { repackSubsets } from '../service-endpoints/subsets.ts'
import { withTriggerTime } from '../service-endpoints/trigger-times.ts'
import { truncateSubsets } from './truncate.ts'

const managedByLabel = 'endpoints.kubernetes.io/managed-by'
const managedBy = 'endpoint-controller'

const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity'

export interface EndpointsWorld {
  readonly service: Stored<Service>
  /** Pods that the service selects. */
  readonly pods: readonly Stored<Pod>[]
  readonly current: Endpoints | undefined
  readonly triggerTime: string | undefined
}

/** The desired Endpoints; undefined if nothing changes. */
export function planEndpoints({
  service,
  pods,
  current,
  triggerTime,
}: EndpointsWorld): Endpoints | undefined {
  const isPublished = service.spec?.publishNotReadyAddresses === true
  const members = pods.filter(pod => hasEndpoint(pod) && (isPublished || !isBeingDeleted(pod)))
  const packed = repackSubsets(members.flatMap(pod => subsetsOf(pod, service)))
  const { subsets, isTruncated } = truncateSubsets(packed)
  const labels = endpointsLabels(service)
  const isMarked = current?.metadata.annotations?.[overCapacityAnnotation] !== undefined
  if (
    current !== undefined &&
    isMarked === isTruncated &&
    equalJson(labels, current.metadata.labels) &&
    equalJson(subsets, repackSubsets(current.subsets ?? []))
  ) {
    return undefined
  }
  const { [overCapacityAnnotation]: _mark, ...others } = current?.metadata.annotations ?? {}
  const { namespace = '', name } = service.metadata
  const annotations = {
    ...withTriggerTime(others, triggerTime),
    ...(isTruncated && { [overCapacityAnnotation]: 'truncated' }),
  }
  return {
    ...current,
    metadata: { ...(current?.metadata ?? { namespace, name }), labels, annotations },
    subsets,
  }
}

/** One subset per port; they are repacked afterwards. */
function subsetsOf(pod: Stored<Pod>, service: Service): readonly EndpointSubset[] {
  const address = addressOf(pod, service)
  if (address === undefined) return []
  const isReady = service.spec?.publishNotReadyAddresses === true || isPodReady(pod)
  const addresses = isReady ? { addresses: [address] } : { notReadyAddresses: [address] }
  const servicePorts = service.spec?.ports ?? []
  if (servicePorts.length === 0) return isHeadless(service) ? [addresses] : []
  return servicePorts.flatMap(servicePort => {
    const port = targetPort(pod, servicePort)
    if (port === undefined) return []
    const { name, protocol = 'TCP', appProtocol } = servicePort
    return [
      {
        ...addresses,
        ports: [{ ...(name && { name }), port, protocol, ...(appProtocol && { appProtocol }) }],
      },
    ]
  })
}

/** The address of the service's first IP family: Endpoints are single-stack. */
function addressOf(pod: Stored<Pod>, service: Service): EndpointAddress | undefined {
  const [ip] = podAddresses(pod)[service.spec?.ipFamilies?.[0] === 'IPv6' ? 6 : 4]
  if (ip === undefined) return undefined
  const { namespace = '', name, uid } = pod.metadata
  const { nodeName } = pod.spec ?? {}
  const hostname = endpointHostname(pod, service)
  return {
    ip,
    ...(hostname && { hostname }),
    ...(nodeName && { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
}

function endpointsLabels(service: Service): Readonly<Record<string, string>> {
  const { [headlessLabel]: _headless, ...labels } = service.metadata.labels ?? {}
  return { ...labels, ...(isHeadless(service) && { [headlessLabel]: '' }), [managedByLabel]: managedBy }
}
