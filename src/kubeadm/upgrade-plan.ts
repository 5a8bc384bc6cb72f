/** The components of a cluster with their current and target versions, as `k8ts upgrade plan` shows them. */
import type { Node } from '#/api/generated/core/v1.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { formatTable } from './format-table.ts'
import { oldestVersion } from './upgrade-versions.ts'

export interface ApiServerVersion {
  /** The address that the API server advertises. */
  readonly address: string
  readonly version: string
}

export interface UpgradeFacts {
  readonly apiServers: readonly ApiServerVersion[]
  readonly nodes: readonly Pick<Node, 'metadata' | 'status'>[]
  /** True if one process runs all components: they are upgraded together. */
  readonly isOneProcess: boolean
}

export interface ComponentUpgrade {
  readonly name: string
  /** Name of the node; empty for an API server without a node. */
  readonly node: string
  readonly current: string
  readonly target: string
}

export interface UpgradePlan {
  readonly clusterVersion: string
  readonly target: string
  /** Upgraded by `k8ts upgrade apply`, on the first control plane host. */
  readonly controlPlane: readonly ComponentUpgrade[]
  /** Upgraded by `k8ts upgrade node` on their hosts. */
  readonly nodes: readonly ComponentUpgrade[]
  readonly isUpToDate: boolean
}

const controlPlaneComponents = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']

/** All processes of a host run one program, so that the version of its API server or kubelet is that of the others. */
export function planUpgrade({ apiServers, nodes, isOneProcess }: UpgradeFacts, target: string): UpgradePlan {
  const nodeOf = (address: string): string =>
    nodes.find(({ status }) => status?.addresses?.some(each => each.address === address))?.metadata.name ?? ''
  const hosts = apiServers.map(({ address, version }) => ({ node: nodeOf(address), version }))
  const controlPlane = hosts.flatMap(({ node, version: current }) =>
    controlPlaneComponents.map(name => ({ name, node, current, target })),
  )
  const ofNodes = nodes.map(({ metadata, status }) => {
    const current = status?.nodeInfo?.kubeletVersion ?? ''
    return { name: 'kubelet', node: metadata.name ?? '', current, target }
  })
  const all = [...controlPlane, ...ofNodes]
  return {
    clusterVersion: oldestVersion(apiServers.map(({ version }) => version)) ?? '',
    target,
    controlPlane: isOneProcess ? all : controlPlane,
    nodes: isOneProcess ? [] : ofNodes,
    isUpToDate: all.every(({ current }) => current === target),
  }
}

export function formatUpgradePlan({ controlPlane, nodes, target, isUpToDate }: UpgradePlan): string {
  if (isUpToDate) return `All components have version ${target}: there is nothing to upgrade.\n`
  const manually =
    "Components that must be upgraded on their hosts with 'k8ts upgrade node' after you have upgraded the control " +
    "plane with 'k8ts upgrade apply':"
  return `${nodes.length === 0 ? '' : `${manually}\n${formatComponents(nodes)}\n`}Upgrade to this version of k8ts:

${formatComponents(controlPlane)}
You can now apply the upgrade by executing the following command:

\tk8ts upgrade apply ${target}

`
}

function formatComponents(components: readonly ComponentUpgrade[]): string {
  const rows = components.map(({ name, node, current, target }) => [name, node, current, target])
  return formatTable([['COMPONENT', 'NODE', 'CURRENT', 'TARGET'], ...rows])
}

/** As kubeadm prints it with `-o json`. */
export function upgradePlanFields({ controlPlane, nodes, isUpToDate }: UpgradePlan): JsonObject {
  const components = [...nodes, ...controlPlane].map(({ name, node, current, target }) => {
    return { name, currentVersion: current, newVersion: target, nodeName: node }
  })
  return { availableUpgrades: isUpToDate ? [] : [{ description: 'this version of k8ts', components }] }
}
