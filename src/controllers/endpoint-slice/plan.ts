import type { Node, Pod, Service } from '#/api/generated/core/v1.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { controllerReference, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodReady } from '../pods.ts'
import {
  endpointHostname,
  hasEndpoint,
  headlessLabel,
  isHeadless,
  podAddresses,
  targetPort,
} from '../service-endpoints/pod-endpoint.ts'
import { endpointKey, managedByLabel, portsKey, serviceNameLabel } from '../service-endpoints/slices.ts'
import { withTriggerTime } from '../service-endpoints/trigger-times.ts'
import { fillSlices, type SliceDraft } from './fill.ts'
import { trafficHints, withHints } from './hints.ts'
import { planZoneHints } from './zone-hints.ts'
import { zoneKeyOf, type ZoneShares } from './zone-shares.ts'

export const managedBy = 'endpointslice-controller.k8s.io'

export interface SlicesWorld {
  readonly service: Stored<Service>
  /** Pods that the service selects. */
  readonly pods: readonly Stored<Pod>[]
  readonly nodeOf: (name: string) => Node | undefined
  /** This controller's slices for a service of this name, except those being deleted. */
  readonly slices: readonly Stored<EndpointSlice>[]
  readonly maxEndpointsPerSlice: number
  readonly triggerTime: string | undefined
  readonly shares: ZoneShares | undefined
}

export interface SlicesPlan {
  readonly create: readonly EndpointSlice[]
  readonly update: readonly EndpointSlice[]
  readonly delete: readonly Stored<EndpointSlice>[]
  /** State of topology aware hints by address type: `on`, `off`, or the reason why there are none. */
  readonly zoneHints: ReadonlyMap<AddressType, string>
}

export type AddressType = 'IPv4' | 'IPv6'

export function planSlices(world: SlicesWorld): SlicesPlan {
  const types = addressTypes(world.service)
  const parts = types.map(type => planType(world, type))
  const isServed = ({ addressType }: EndpointSlice): boolean => types.some(type => type === addressType)
  return {
    // The garbage collector deletes the slices of a service that is being deleted; creating more would
    // prevent it from finishing.
    create: isBeingDeleted(world.service) ? [] : parts.flatMap(({ create }) => create),
    update: parts.flatMap(({ update }) => update),
    delete: [...parts.flatMap(part => part.delete), ...world.slices.filter(slice => !isServed(slice))],
    zoneHints: new Map(parts.map(({ type, zoneHints }) => [type, zoneHints])),
  }
}

/** True if the topology mode annotation is `Auto`; it takes precedence over `trafficDistribution`. */
export function wantsZoneHints({ metadata }: Service): boolean {
  const annotations = metadata.annotations
  const mode =
    annotations?.['service.kubernetes.io/topology-aware-hints'] ??
    annotations?.['service.kubernetes.io/topology-mode']
  return mode === 'Auto' || mode === 'auto'
}

interface TypePlan extends Omit<SlicesPlan, 'zoneHints'> {
  readonly type: AddressType
  readonly zoneHints: string
}

function planType(world: SlicesWorld, type: AddressType): TypePlan {
  const { service, maxEndpointsPerSlice } = world
  const slices = world.slices.filter(({ addressType }) => addressType === type)
  const own = slices.filter(slice => isOwned(slice, service))
  const labels = sliceLabels(service)
  const isStale = ({ metadata }: EndpointSlice): boolean => !equalJson(metadata.labels, labels)
  const groups = groupByPorts(world, type)
  const byPorts = Map.groupBy(own, ({ ports }) => portsKey(ports))
  const filled = [...groups].map(([key, { ports, wanted }]) => {
    return fillSlices({ slices: byPorts.get(key) ?? [], ports, wanted, maxEndpointsPerSlice, isStale })
  })
  const drafts = filled.flatMap(each => each.drafts)
  const unused = [...byPorts].flatMap(([key, each]) => (groups.has(key) ? [] : each))
  const surplus = [...filled.flatMap(({ emptied }) => emptied), ...unused]
  // A service always has at least one slice, so that clients can tell that it has no endpoints.
  const hinted = withAllHints(world, drafts.length > 0 ? drafts : [emptyDraft])
  const reused = reuse(hinted.drafts, surplus, isStale)
  const written = reused.drafts.filter(({ isChanged }) => isChanged)
  return {
    type,
    zoneHints: hinted.zoneHints,
    create: written.filter(({ before }) => before === undefined).map(each => sliceOf(world, type, each)),
    update: written.filter(({ before }) => before !== undefined).map(each => sliceOf(world, type, each)),
    // Slices of a deleted service with the same name are only deleted, never reused.
    delete: [...reused.surplus, ...slices.filter(slice => !isOwned(slice, service))],
  }
}

const emptyDraft: SliceDraft = { ports: [], endpoints: [], isChanged: true }

function isOwned({ metadata }: EndpointSlice, service: Service): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === service.metadata.uid) ?? false
}

interface Group {
  readonly ports: readonly EndpointPort[]
  readonly wanted: Map<string, Endpoint>
}

/**
 * Pods may resolve a named target port to different numbers: pods with the same port numbers share slices.
 */
function groupByPorts(world: SlicesWorld, type: AddressType): ReadonlyMap<string, Group> {
  const { service, pods, nodeOf } = world
  const groups = new Map<string, Group>()
  for (const pod of pods.filter(hasEndpoint)) {
    const node = nodeOf(pod.spec?.nodeName ?? '')
    // The zone of a pod on an unknown node cannot be determined; the node's appearance or the pod's deletion
    // triggers another sync.
    if (node === undefined && !service.spec?.publishNotReadyAddresses) continue
    const endpoint = endpointOf(pod, { service, node, type })
    if (endpoint.addresses.length === 0) continue
    const ports = portsOf(pod, service)
    const key = portsKey(ports)
    const { wanted } = groups.getOrInsertComputed(key, () => ({ ports, wanted: new Map() }))
    wanted.set(endpointKey(endpoint), endpoint)
  }
  return groups
}

function portsOf(pod: Pod, { spec }: Service): readonly EndpointPort[] {
  return (spec?.ports ?? []).flatMap(servicePort => {
    const port = targetPort(pod, servicePort)
    if (port === undefined) return []
    const { name = '', protocol = 'TCP', appProtocol } = servicePort
    return [{ name, port, protocol, ...(appProtocol && { appProtocol }) }]
  })
}

interface EndpointContext {
  readonly service: Service
  readonly node: Node | undefined
  readonly type: AddressType
}

function endpointOf(pod: Stored<Pod>, { service, node, type }: EndpointContext): Endpoint {
  const { namespace = '', name, uid } = pod.metadata
  const { nodeName } = pod.spec ?? {}
  const serving = isPodReady(pod)
  const terminating = isBeingDeleted(pod)
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating)
  const zone = node && zoneKeyOf(node)
  const hostname = endpointHostname(pod, service)
  return {
    addresses: podAddresses(pod)[type === 'IPv6' ? 6 : 4],
    conditions: { ready, serving, terminating },
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
    ...(hostname && { hostname }),
  }
}

interface Hinted {
  readonly drafts: readonly SliceDraft[]
  readonly zoneHints: string
}

function withAllHints({ service, shares }: SlicesWorld, drafts: readonly SliceDraft[]): Hinted {
  if (!wantsZoneHints(service)) {
    return { drafts: withHints(drafts, trafficHints(service.spec?.trafficDistribution)), zoneHints: 'off' }
  }
  const zoned = planZoneHints(drafts, shares)
  if (zoned.problem === undefined) return { drafts: zoned.drafts, zoneHints: 'on' }
  return { drafts: withHints(drafts, () => undefined), zoneHints: zoned.problem }
}

interface Reused {
  readonly drafts: readonly SliceDraft[]
  readonly surplus: readonly Stored<EndpointSlice>[]
}

/** Updates surplus slices instead of deleting them and creating others: one write instead of two. */
function reuse(
  drafts: readonly SliceDraft[],
  surplus: readonly Stored<EndpointSlice>[],
  isStale: (slice: EndpointSlice) => boolean,
): Reused {
  const left = [...surplus]
  const reused = drafts.map(draft => {
    const before = draft.before ?? left.shift()
    if (before === undefined || before === draft.before) return draft
    const isSame = portsKey(before.ports) === portsKey(draft.ports) && !isStale(before)
    const areEmpty = draft.endpoints.length === 0 && (before.endpoints ?? []).length === 0
    return { ...draft, before, isChanged: !(isSame && areEmpty) }
  })
  return { drafts: reused, surplus: left }
}

function sliceOf({ service, triggerTime }: SlicesWorld, type: AddressType, draft: SliceDraft): EndpointSlice {
  const { before, ports, endpoints } = draft
  const { namespace = '', name } = service.metadata
  const annotations = withTriggerTime(before?.metadata.annotations, triggerTime)
  const labels = sliceLabels(service)
  const metadata = before?.metadata ?? {
    namespace,
    generateName: `${name}-`,
    ownerReferences: [controllerReference(service)],
  }
  return { ...before, metadata: { ...metadata, labels, annotations }, addressType: type, ports, endpoints }
}

/** Labels of the service, without those that have a meaning on a slice. */
function sliceLabels(service: Stored<Service>): Readonly<Record<string, string>> {
  const { [headlessLabel]: _headless, ...labels } = service.metadata.labels ?? {}
  return {
    ...labels,
    ...(isHeadless(service) && { [headlessLabel]: '' }),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: managedBy,
  }
}

function addressTypes({ spec }: Service): readonly AddressType[] {
  const types = (['IPv4', 'IPv6'] as const).filter(type => spec?.ipFamilies?.includes(type))
  if (types.length > 0) return types
  const { clusterIP = 'None' } = spec ?? {}
  if (clusterIP === 'None' || clusterIP === '') return ['IPv4', 'IPv6']
  return [clusterIP.includes(':') ? 'IPv6' : 'IPv4']
}
