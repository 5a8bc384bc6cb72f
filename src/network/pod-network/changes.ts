/** Plans the commands that turn the actual pod network of a node into the planned one. */
import { cidrContainsCidr, parseCidr } from '#/api/net/cidr.ts'
import type { PodNetworkPlan, PodNetworkSettings, VxlanDevice } from './plan.ts'
import { routeProtocol, type HostLink, type PodNetworkState } from './state.ts'

/** Lines for `ip -batch` and `bridge -batch`, in this order. */
export interface PodNetworkChanges {
  readonly ip: readonly string[]
  readonly bridge: readonly string[]
}

export interface PlanChangesOptions {
  /** Undefined removes the pod network. */
  readonly plan: PodNetworkPlan | undefined
  readonly state: PodNetworkState
  readonly settings: Pick<PodNetworkSettings, 'device' | 'podCidrs'>
}

/**
 * Everything on the device belongs to the pod network, as do routes with its protocol to the pod CIDRs of the
 * cluster. Throws Error when a link of another kind has the name of the device.
 */
export function planPodNetworkChanges({ plan, state, settings }: PlanChangesOptions): PodNetworkChanges {
  const { device } = settings
  const existing = state.links.find(({ name }) => name === device)
  const isKept = plan?.device !== undefined && existing !== undefined && isSameVxlan(existing, plan.device)
  // The addresses, routes and entries of a device vanish with it.
  const kept = isKept ? existing : undefined
  const ofDevice = kept ? state : { neighbours: [], fdb: [] }
  const routes = difference(ownRoutes(state, settings, isKept), plan?.routes ?? [], routeText)
  const neighbours = difference(ofDevice.neighbours, plan?.neighbours ?? [], neighbourText)
  const fdb = difference(ofDevice.fdb, plan?.fdb ?? [], fdbText)
  const addresses = difference(kept?.addresses ?? [], plan?.addresses ?? [], text => text)
  return {
    ip: [
      ...routes.removed.map(route => `route delete ${routeText(route)}`),
      ...linkChanges({ planned: plan?.device, existing, isKept, device }),
      ...addresses.removed.map(text => `address delete ${text} dev ${device}`),
      // Duplicate address detection would delay the first packets.
      ...addresses.added.map(text => {
        return `address replace ${text} dev ${device}${text.includes(':') ? ' nodad' : ''}`
      }),
      ...neighbours.removed.map(each => `neigh delete ${neighbourText(each)} dev ${device}`),
      ...neighbours.added.map(each => `neigh replace ${neighbourText(each)} dev ${device} nud permanent`),
      ...routes.added.map(route => `route replace ${routeText(route)}${route.isOnlink ? ' onlink' : ''}`),
    ],
    bridge: [
      ...fdb.removed.map(each => `fdb delete ${fdbText(each)} dev ${device}`),
      ...fdb.added.map(each => `fdb replace ${fdbText(each)} dev ${device} self permanent`),
    ],
  }
}

/** Items in only one of the lists. */
function difference<Actual, Desired extends Actual>(
  actual: readonly Actual[],
  desired: readonly Desired[],
  textOf: (item: Actual) => string,
): { readonly removed: readonly Actual[]; readonly added: readonly Desired[] } {
  const [has, wants] = [new Set(actual.map(textOf)), new Set(desired.map(textOf))]
  return {
    removed: actual.filter(item => !wants.has(textOf(item))),
    added: desired.filter(item => !has.has(textOf(item))),
  }
}

/** A route from outside may lack gateway and source. */
function routeText({ destination, gateway, device, source }: PodNetworkState['routes'][number]): string {
  const via = gateway === '' ? '' : ` via ${gateway}`
  const from = source === '' ? '' : ` src ${source}`
  return `${destination}${via} dev ${device} proto ${routeProtocol}${from}`
}

function neighbourText({ address, mac }: PodNetworkState['neighbours'][number]): string {
  return `${address} lladdr ${mac}`
}

function fdbText({ mac, destination }: PodNetworkState['fdb'][number]): string {
  return `${mac} dst ${destination}`
}

function ownRoutes(
  { routes }: PodNetworkState,
  { device, podCidrs }: PlanChangesOptions['settings'],
  isDeviceKept: boolean,
): PodNetworkState['routes'] {
  const cluster = podCidrs.flatMap(text => parseCidr(text) ?? [])
  return routes.filter(route => {
    if (route.device === device) return isDeviceKept
    const destination = parseCidr(route.destination)
    return destination !== undefined && cluster.some(each => cidrContainsCidr(each, destination))
  })
}

function linkChanges({
  planned,
  existing,
  isKept,
  device,
}: {
  readonly planned: VxlanDevice | undefined
  readonly existing: HostLink | undefined
  readonly isKept: boolean
  readonly device: string
}): readonly string[] {
  if (planned && existing && !existing.vxlan)
    throw new Error(`cannot create VXLAN device ${device}: a link of another kind has this name`)
  const deletion = existing?.vxlan && !isKept ? [`link delete dev ${device}`] : []
  if (!planned) return deletion
  const { mac, mtu, vni, port, local, link } = planned
  const up = `link set dev ${device} up`
  if (!isKept || !existing) {
    const vxlan = `vxlan id ${vni} local ${local} dev ${link} dstport ${port} nolearning`
    return [...deletion, `link add name ${device} address ${mac} mtu ${mtu} type ${vxlan}`, up]
  }
  return [
    ...(existing.mac === mac ? [] : [`link set dev ${device} address ${mac}`]),
    ...(existing.mtu === mtu ? [] : [`link set dev ${device} mtu ${mtu}`]),
    ...(existing.isUp ? [] : [up]),
  ]
}

/** These properties cannot be changed on an existing device. */
function isSameVxlan({ vxlan }: HostLink, { vni, port, local, link }: VxlanDevice): boolean {
  return (
    vxlan !== undefined &&
    vxlan.vni === vni &&
    vxlan.port === port &&
    vxlan.local === local &&
    vxlan.link === link &&
    !vxlan.isLearning
  )
}
