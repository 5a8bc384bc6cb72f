import type { EndpointAddress, Endpoints, EndpointSubset } from '#/api/generated/core/v1.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatIp, parseIpLeniently, unmapIp } from '#/api/net/ip.ts'
import { controllerReference, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import {
  endpointKey,
  isSameEndpoint,
  managedByLabel,
  portsKey,
  serviceNameLabel,
} from '../service-endpoints/slices.ts'
import { repackSubsets } from '../service-endpoints/subsets.ts'
import { triggerTimeAnnotation } from '../service-endpoints/trigger-times.ts'

export const managedBy = 'endpointslicemirroring-controller.k8s.io'

/** Maximum number of mirrored addresses per subset, and thereby of endpoints per slice. */
export const mirroredMax = 1_000

export interface MirrorPlan {
  readonly create: readonly EndpointSlice[]
  readonly update: readonly EndpointSlice[]
  readonly delete: readonly Stored<EndpointSlice>[]
  /** Number of addresses that are not valid IP addresses. */
  readonly invalidCount: number
  /** Number of addresses beyond `mirroredMax`. */
  readonly skippedCount: number
}

/** The slices that mirror the Endpoints, one for each set of ports and IP family. */
export function planMirror(
  endpoints: Stored<Endpoints>,
  slices: readonly Stored<EndpointSlice>[],
): MirrorPlan {
  const drafts = repackSubsets(endpoints.subsets ?? []).map(mirrorSubset)
  const wanted = drafts.flatMap(({ mirrored }) => mirrored)
  const left = new Set(slices)
  const claim = (suits: (slice: EndpointSlice) => boolean): Stored<EndpointSlice> | undefined => {
    const found = [...left].find(suits)
    if (found) left.delete(found)
    return found
  }
  const known = wanted.map(draft => {
    const key = portsKey(draft.ports)
    return {
      draft,
      before: claim(({ addressType, ports }) => addressType === draft.type && portsKey(ports) === key),
    }
  })
  // Reuse surplus slices instead of deleting and creating.
  const matched = known.map(({ draft, before }) => {
    return { draft, before: before ?? claim(({ addressType }) => addressType === draft.type) }
  })
  const changed = matched.filter(
    ({ draft, before }) => before === undefined || !isSame(endpoints, draft, before),
  )
  const isNew = ({ before }: { readonly before: EndpointSlice | undefined }): boolean => before === undefined
  const made = changed.filter(isNew).map(({ draft }) => sliceOf(endpoints, draft, undefined))
  return {
    create: isBeingDeleted(endpoints) ? [] : made,
    update: changed
      .filter(each => !isNew(each))
      .map(({ draft, before }) => sliceOf(endpoints, draft, before)),
    delete: [...left],
    invalidCount: drafts.reduce((sum, { invalidCount }) => sum + invalidCount, 0),
    skippedCount: drafts.reduce((sum, { skippedCount }) => sum + skippedCount, 0),
  }
}

interface MirrorDraft {
  readonly type: 'IPv4' | 'IPv6'
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

interface MirroredSubset {
  readonly mirrored: readonly MirrorDraft[]
  readonly invalidCount: number
  readonly skippedCount: number
}

function mirrorSubset(subset: EndpointSubset): MirroredSubset {
  const ports = (subset.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol }) => {
    return { name, port, protocol, ...(appProtocol && { appProtocol }) }
  })
  const all = [
    ...(subset.addresses ?? []).map(address => endpointOf(address, true)),
    ...(subset.notReadyAddresses ?? []).map(address => endpointOf(address, false)),
  ]
  const valid = all.filter(endpoint => endpoint !== undefined)
  const kept = valid.slice(0, mirroredMax)
  const mirrored = (['IPv4', 'IPv6'] as const)
    .map(type => ({ type, ports, endpoints: kept.filter(each => typeOf(each) === type) }))
    .filter(({ endpoints }) => endpoints.length > 0)
  return { mirrored, invalidCount: all.length - valid.length, skippedCount: valid.length - kept.length }
}

function typeOf({ addresses }: Endpoint): 'IPv4' | 'IPv6' {
  return addresses[0]?.includes(':') ? 'IPv6' : 'IPv4'
}

function endpointOf(address: EndpointAddress, ready: boolean): Endpoint | undefined {
  const ip = parseIpLeniently(address.ip)
  if (ip === undefined) return undefined
  const { targetRef, nodeName, hostname } = address
  return {
    addresses: [formatIp(unmapIp(ip))],
    conditions: { ready },
    ...(targetRef && { targetRef }),
    ...(nodeName && { nodeName }),
    ...(hostname && { hostname }),
  }
}

function isSame(endpoints: Stored<Endpoints>, draft: MirrorDraft, before: EndpointSlice): boolean {
  const known = new Map((before.endpoints ?? []).map(endpoint => [endpointKey(endpoint), endpoint]))
  return (
    portsKey(before.ports) === portsKey(draft.ports) &&
    before.endpoints?.length === draft.endpoints.length &&
    draft.endpoints.every(endpoint => {
      const last = known.get(endpointKey(endpoint))
      return last !== undefined && isSameEndpoint(last, endpoint)
    }) &&
    equalJson(before.metadata.labels, mirroredLabels(endpoints)) &&
    equalJson(before.metadata.annotations ?? {}, mirroredAnnotations(endpoints)) &&
    before.metadata.ownerReferences?.some(({ uid }) => uid === endpoints.metadata.uid) === true
  )
}

function sliceOf(
  endpoints: Stored<Endpoints>,
  { type, ports, endpoints: list }: MirrorDraft,
  before: EndpointSlice | undefined,
): EndpointSlice {
  const { namespace = '', name } = endpoints.metadata
  return {
    ...before,
    metadata: {
      ...(before?.metadata ?? { namespace, generateName: `${name}-` }),
      labels: mirroredLabels(endpoints),
      annotations: mirroredAnnotations(endpoints),
      ownerReferences: [controllerReference(endpoints)],
    },
    addressType: type,
    ports,
    endpoints: list,
  }
}

function mirroredLabels({ metadata }: Stored<Endpoints>): Readonly<Record<string, string>> {
  return { ...metadata.labels, [serviceNameLabel]: metadata.name, [managedByLabel]: managedBy }
}

function mirroredAnnotations({ metadata }: Endpoints): Readonly<Record<string, string>> {
  const annotations = { ...metadata.annotations }
  delete annotations[triggerTimeAnnotation]
  delete annotations['kubectl.kubernetes.io/last-applied-configuration']
  return annotations
}
