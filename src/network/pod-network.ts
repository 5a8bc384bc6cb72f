/**
 * The pod network of a node: makes the pods of all nodes reachable by their own addresses, by VXLAN or routes.
 * Follows the Node objects and the kernel's network, and writes what is missing or wrong, so that changes from
 * outside are repaired. The network remains when it stops, since pods keep running.
 *
 * It does not connect pods to their node: that is the CNI configuration of `node-network.ts`.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import { formatIp } from '#/api/net/ip.ts'
import { backoffMs } from '#/base/backoff.ts'
import type { Informer } from '#/client/informer.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform, Processes } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { planPodNetworkChanges, type PodNetworkChanges } from './pod-network/changes.ts'
import { writeIpBatch } from './ip-batch.ts'
import { IpMonitor } from './ip-monitor.ts'
import {
  planPodNetwork,
  underlayAddress,
  type NodeLink,
  type PodNetworkNode,
  type PodNetworkPlan,
  type PodNetworkSettings,
} from './pod-network/plan.ts'
import {
  isRelevantChange,
  readPodNetwork,
  type PodNetworkState,
  type WatchedNetwork,
} from './pod-network/state.ts'

export { podMtu, type PodNetworkSettings } from './pod-network/plan.ts'

export interface PodNetworkOptions {
  readonly platform: Platform
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  /** Starts programs in the node's network namespace; those of the platform when absent. */
  readonly processes?: Processes
  /** All nodes of the cluster. Run by the caller. */
  readonly nodes: Informer<Node>
  readonly nodeName: string
  readonly settings: PodNetworkSettings
}

/** Changes in quick succession are written together. */
const debounce = { initialMs: 20, maxMs: 5_000, factor: 2, jitter: 0.1 }

/** Interval of verification when idle: `ip monitor` may lose changes. */
const verifyIntervalMs = 60_000

const retry = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.1 }

export class PodNetwork {
  readonly #options: PodNetworkOptions
  readonly #log: ThrottledLog
  readonly #monitor: IpMonitor
  readonly #synced = Promise.withResolvers<void>()
  #watched: WatchedNetwork
  #refused = new Set<string>()
  #mtu: number | undefined
  #haveNodesChanged = true
  /** False until the reverse path filter of the device was set by this process. */
  #isFilterSet = false
  #wake = Promise.withResolvers<void>()

  constructor(options: PodNetworkOptions) {
    const { platform, settings, processes = platform.processes } = options
    this.#options = options
    this.#log = new ThrottledLog(platform)
    this.#watched = { device: settings.device, link: undefined, destinations: new Set() }
    this.#monitor = new IpMonitor({
      platform,
      processes,
      objects: ['link', 'address', 'route', 'neigh'],
      isRelevant: line => isRelevantChange(line, this.#watched),
      onChange: () => this.#wake.resolve(),
    })
  }

  /** Resolves after the first sync in which the node had a pod CIDR. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /** MTU of the pods; undefined before `synced`. */
  get mtu(): number | undefined {
    return this.#mtu
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, nodes } = this.#options
    const removeHandler = nodes.addEventHandler((_key, { oldObject, newObject }) => {
      if (isSameNetwork(oldObject, newObject)) return
      this.#haveNodesChanged = true
      this.#wake.resolve()
    })
    const monitoring = this.#monitor.run(signal)
    await nodes.waitForSync(signal).catch(() => undefined)
    let failures = 0
    /** Consecutive syncs that changed something although no node had changed. */
    let repairs = 0
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers()
      const haveNodesChanged = this.#haveNodesChanged
      this.#haveNodesChanged = false
      try {
        const hasWritten = await this.#sync(signal)
        failures = 0
        repairs = hasWritten && !haveNodesChanged ? repairs + 1 : 0
        if (repairs > 0) platform.log.info('Repaired the pod network')
      } catch (error) {
        if (signal.aborted) break
        failures++
        this.#haveNodesChanged ||= haveNodesChanged
        const key = error instanceof Error ? error.message : String(error)
        this.#log.error(key, 'Failed to sync the pod network', { error })
      }
      await this.#rest({ failures, repairs, signal })
    }
    removeHandler()
    await monitoring
  }

  /** Waits for a change, the next verification or the retry backoff. */
  async #rest({
    failures,
    repairs,
    signal,
  }: {
    readonly failures: number
    readonly repairs: number
    readonly signal: AbortSignal
  }): Promise<void> {
    const { clock, random } = this.#options.platform
    const fraction = random.fraction('pod network')
    if (failures === 0) {
      const waiting = new AbortController()
      const slept = clock.sleep(verifyIntervalMs, AbortSignal.any([signal, waiting.signal]))
      await Promise.race([this.#wake.promise, slept.catch(() => undefined)])
      waiting.abort()
    }
    // Another program that undoes each repair must not make this one run without pause.
    const delayMs =
      failures > 0 ? backoffMs(failures, retry, fraction) : backoffMs(repairs + 1, debounce, fraction)
    await clock.sleep(delayMs, signal).catch(() => undefined)
  }

  /** True if something was written. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    const { linux, nodeName, nodes, settings } = this.#options
    const own = nodes.get(nodeName)
    const self = own && networkOf(own)
    if (!self || self.podCidrs.length === 0 || self.addresses.length === 0) return false
    const state = await readPodNetwork({ linux, settings, signal })
    const link = linkOf(self, state)
    const plan = planPodNetwork({ self, peers: nodes.list().map(networkOf), link, settings })
    if (!plan) return false
    this.#watched = {
      device: settings.device,
      link: link.name,
      destinations: new Set(plan.routes.map(({ destination }) => destination)),
    }
    this.#report(plan)
    const changes = planPodNetworkChanges({ plan, state, settings })
    const hasNewDevice = changes.ip.some(line => line.startsWith('link add '))
    await writeChanges(linux, changes, signal)
    if (plan.device && (hasNewDevice || !this.#isFilterSet)) {
      await setReversePathFilter(linux, [settings.device, link.name], signal)
      this.#isFilterSet = true
    }
    this.#mtu = plan.mtu
    this.#synced.resolve()
    return changes.ip.length + changes.bridge.length > 0
  }

  /** Logs each refused pod CIDR once. */
  #report({ refused }: PodNetworkPlan): void {
    const texts = new Map(refused.map(each => [`${each.node} ${each.podCidr} ${each.reason}`, each]))
    for (const [text, { node, podCidr, reason }] of texts) {
      if (this.#refused.has(text)) continue
      this.#options.platform.log.warn('Pods of a node are unreachable', { node, podCidr, reason })
    }
    this.#refused = new Set(texts.keys())
  }
}

/** Removes the device and the routes. Does nothing if there are none. */
export async function removePodNetwork(
  linux: Pick<Linux, 'run'>,
  settings: Pick<PodNetworkSettings, 'device' | 'podCidrs'>,
): Promise<void> {
  const state = await readPodNetwork({ linux, settings })
  await writeChanges(linux, planPodNetworkChanges({ plan: undefined, state, settings }))
}

function networkOf({ metadata, spec, status }: Node): PodNetworkNode {
  const addresses = (status?.addresses ?? []).flatMap(({ type, address }) => {
    return type === 'InternalIP' ? [address] : []
  })
  return { name: metadata?.name ?? '', addresses, podCidrs: spec?.podCIDRs ?? [] }
}

function isSameNetwork(oldNode: Node | undefined, newNode: Node | undefined): boolean {
  const [before, after] = [oldNode, newNode].map(node => node && JSON.stringify(networkOf(node)))
  return before === after
}

/** Throws Error when no link of the node has its address. */
function linkOf({ addresses }: PodNetworkNode, { links }: PodNetworkState): NodeLink {
  const underlay = underlayAddress(addresses)
  const address = underlay && formatIp(underlay)
  const link = links.find(each => each.addresses.some(text => text.split('/')[0] === address))
  if (link) return link
  throw new Error(`no network interface has the address of this node, ${address}: check its InternalIP`)
}

async function writeChanges(
  linux: Pick<Linux, 'run'>,
  { ip, bridge }: PodNetworkChanges,
  signal?: AbortSignal,
): Promise<void> {
  const subject = 'the pod network'
  const results = [
    await writeIpBatch(linux, { program: 'ip', lines: ip, subject, signal }),
    await writeIpBatch(linux, { program: 'bridge', lines: bridge, subject, signal }),
  ]
  const error = results.find(each => each !== undefined)
  if (error) throw error
}

/**
 * Sets the reverse path filter to loose where it is strict. A node answers a pod of another node through the
 * device, although the pod's packets to the node's own address arrive on the link.
 */
async function setReversePathFilter(
  linux: Pick<Linux, 'run'>,
  devices: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  // Not the builtin `read` of the shell: it reads single bytes, and sysctls give only the first.
  const script =
    'cd /proc/sys/net/ipv4/conf && all=$(cat all/rp_filter) || exit; ' +
    'for each; do own=$(cat "$each/rp_filter") || exit; ' +
    'if [ "$all" -lt 2 ] && [ $((all + own)) -gt 0 ]; then echo 2 > "$each/rp_filter" || exit; fi; done'
  await linux.run(['sh', '-c', script, 'sh', ...devices], { signal })
}
