/**
 * The network slot of a cluster on its machine, stored in the cluster's folder. A slot is claimed by creating
 * its bridge, which is atomic in the kernel. The bridge's MAC address identifies its cluster and is set on
 * creation, so that a process killed at any step finds its slot again.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { cidrContainsCidr, cidrsOverlap, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'
import { planClusterNetwork, slotCount, type ClusterNetworkOverrides } from './cluster-network.ts'

export interface NetworkSlot {
  readonly slot: number
  /** The MAC address of the bridge, which identifies the cluster. */
  readonly bridgeAddress: string
}

export interface ClaimOptions {
  readonly linux: Pick<Linux, 'run'>
  readonly files: Files
  /** The cluster's folder; must exist. */
  readonly folder: string
  readonly choice?: ClusterNetworkOverrides
}

/** Returns the slot of the cluster, or claims a free one. Throws Error when none is free. */
export async function claimNetworkSlot({ linux, files, folder, choice }: ClaimOptions): Promise<NetworkSlot> {
  const known = await readNetworkSlot(files, folder)
  if (known) return known
  const bridgeAddress = bridgeAddressOf(folder)
  for (let attempt = 0; attempt < slotCount; attempt++) {
    const slot = chooseSlot(await readMachine(linux), { bridgeAddress, choice })
    const claim = { slot, bridgeAddress }
    if (!(await ensureBridge(linux, claim))) continue
    await files.write(join(folder, fileName), `${JSON.stringify(claim)}\n`)
    return claim
  }
  throw new Error('cannot claim a network slot: other clusters claimed all of them first')
}

/** The slot of the cluster in a folder; undefined when it has none. */
export async function readNetworkSlot(files: Files, folder: string): Promise<NetworkSlot | undefined> {
  const path = join(folder, fileName)
  if ((await files.stat(path)) === undefined) return undefined
  const text = Buffer.from(await files.read(path)).toString()
  try {
    const { slot, bridgeAddress } = JSON.parse(text) as NetworkSlot
    planClusterNetwork(slot)
    if (/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(bridgeAddress)) return { slot, bridgeAddress }
    throw new Error(`invalid MAC address ${bridgeAddress}`)
  } catch (cause) {
    throw new Error(`cannot read the cluster's network slot from ${path}`, { cause })
  }
}

/** Creates the bridge of the slot if missing. False when the bridge belongs to another cluster. */
export async function ensureBridge(linux: Pick<Linux, 'run'>, claim: NetworkSlot): Promise<boolean> {
  const name = bridgeOf(claim.slot)
  const owner = await ownerOf(linux, name)
  if (owner !== undefined) return owner === claim.bridgeAddress
  try {
    await linux.run(['ip', 'link', 'add', 'name', name, 'address', claim.bridgeAddress, 'type', 'bridge'])
    return true
  } catch (error) {
    const now = await ownerOf(linux, name)
    if (now === undefined) throw error
    return now === claim.bridgeAddress
  }
}

export async function hasBridge(linux: Pick<Linux, 'run'>, claim: NetworkSlot): Promise<boolean> {
  return (await ownerOf(linux, bridgeOf(claim.slot))) === claim.bridgeAddress
}

/** Output of `ip -j link show` and `ip -j route show`. */
export interface HostNetwork {
  readonly links: readonly { readonly ifname: string; readonly address?: string }[]
  readonly routes: readonly { readonly dst: string }[]
}

/**
 * Prefers a slot with ranges that overlap no route. Otherwise, e.g. with a route for all of 10.0.0.0/8,
 * chooses one with ranges that contain no routed network; they then shadow a part of the broader route on
 * this machine.
 */
export function chooseSlot(
  { links, routes }: HostNetwork,
  {
    bridgeAddress,
    choice,
  }: { readonly bridgeAddress: string; readonly choice?: ClusterNetworkOverrides | undefined },
): number {
  const owners = new Map(links.map(({ ifname, address }) => [ifname, address]))
  const slots = Array.from({ length: slotCount }, (_, slot) => slot)
  const own = slots.find(slot => owners.get(bridgeOf(slot)) === bridgeAddress)
  if (own !== undefined) return own
  const free = slots.filter(slot => !owners.has(bridgeOf(slot)))
  const used = routes.flatMap(({ dst }) => parseRoute(dst) ?? [])
  const isClear = (slot: number, collides: (ours: Cidr, theirs: Cidr) => boolean): boolean => {
    return rangesOf(slot, choice).every(ours => !used.some(theirs => collides(ours, theirs)))
  }
  const chosen =
    free.find(slot => isClear(slot, cidrsOverlap)) ?? free.find(slot => isClear(slot, cidrContainsCidr))
  if (chosen === undefined) {
    throw new Error(
      'all network slots of this machine are in use: set --pod-cidr and ' +
        '--service-cidr, or remove a cluster with k8ts down',
    )
  }
  return chosen
}

const fileName = 'network.json'

function bridgeOf(slot: number): string {
  return `k8ts${slot}`
}

/** Locally administered, and derived from the folder. */
function bridgeAddressOf(folder: string): string {
  const digest = createHash('sha256').update(folder).digest('hex')
  return ['02', '6b', ...digest.slice(0, 8).match(/../g)!].join(':')
}

async function ownerOf(linux: Pick<Linux, 'run'>, name: string): Promise<string | undefined> {
  const links = JSON.parse(await linux.run(['ip', '-j', 'link', 'show'])) as HostNetwork['links']
  const link = links.find(({ ifname }) => ifname === name)
  return link && (link.address ?? '')
}

async function readMachine(linux: Pick<Linux, 'run'>): Promise<HostNetwork> {
  const [links, routes] = await Promise.all([
    linux.run(['ip', '-j', 'link', 'show']),
    linux.run(['ip', '-j', 'route', 'show']),
  ])
  return {
    links: JSON.parse(links) as HostNetwork['links'],
    routes: JSON.parse(routes) as HostNetwork['routes'],
  }
}

/** Parses `default`, a range, or a single address. */
function parseRoute(dst: string): Cidr | undefined {
  if (dst === 'default') return undefined
  return parseCidr(dst.includes('/') ? dst : `${dst}/${dst.includes(':') ? 128 : 32}`)
}

function rangesOf(slot: number, choice: ClusterNetworkOverrides | undefined): readonly Cidr[] {
  const { nodeCidr, podCidrs, serviceCidrs } = planClusterNetwork(slot, choice)
  return [nodeCidr, ...podCidrs, ...serviceCidrs].flatMap(text => parseCidr(text) ?? [])
}
