/**
 * Allocates pod CIDRs to nodes, one from each cluster CIDR. The node's spec is the only record of an
 * allocation; allocations that are not yet visible there are kept in memory.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
 */
import { addCidrSetMetrics } from './node-ipam/cidr-set-metrics.ts'
import { formatCidr, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { NodeCidrs } from './node-ipam/node-cidrs.ts'
import { CidrSet } from './node-ipam/cidr-set.ts'

export interface NodeIpamSettings {
  /** One CIDR, or one per IP family with the preferred family first. */
  readonly clusterCidrs: readonly string[]
  /** Prefix length of the pod CIDR of a node. */
  readonly prefixLengths?: { readonly ipv4?: number; readonly ipv6?: number }
  /** Service CIDRs; where they overlap with the cluster CIDRs, nothing is allocated to nodes. */
  readonly serviceCidrs?: readonly string[]
}

const prefixLengthsUsual = { ipv4: 24, ipv6: 64 }

/** Throws Error if the CIDRs or prefix lengths are invalid. */
export function nodeIpamController(settings: NodeIpamSettings): Controller {
  const prefixLengths = { ...prefixLengthsUsual, ...settings.prefixLengths }
  const pools = (): readonly CidrSet[] => {
    return settings.clusterCidrs.map(cluster => {
      const subnets = new CidrSet(cluster, cluster.includes(':') ? prefixLengths.ipv6 : prefixLengths.ipv4)
      for (const text of settings.serviceCidrs ?? []) {
        const cidr = parseCidr(text)
        if (cidr) subnets.occupy(cidr)
      }
      return subnets
    })
  }
  // Fail at startup if the settings are invalid.
  pools()
  return {
    name: 'node-ipam-controller',
    queueName: 'cidrallocator_node',
    account: 'node-controller',
    component: 'cidrAllocator',
    workers: 30,
    setUp: context => setUp(context, pools()),
  }
}

function setUp(
  { recorder, informer, enqueue, metrics }: ControllerContext,
  pools: readonly CidrSet[],
): Reconcile {
  addCidrSetMetrics(metrics, pools)
  const allNodes = informer(nodes)
  const nodeCidrs = new NodeCidrs(pools)
  /** Nodes for which no CIDR was left. */
  const waiting = new Set<string>()
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    const has = newObject ? podCidrsOf(newObject) : []
    if (newObject === undefined) {
      nodeCidrs.release(name)
      waiting.delete(name)
      for (const other of waiting) enqueue(other)
    } else if (has.length > 0) nodeCidrs.occupy(name, has)
    else if (oldObject === undefined || podCidrsOf(oldObject).length > 0) enqueue(name)
  })
  /**
   * Allocations that a previous process wrote last may not be visible in the informer yet, and an allocated
   * CIDR never changes.
   */
  let loading: Promise<void> | undefined
  const loadAllocations = async (client: Client): Promise<void> => {
    for (const node of (await client.listAll(nodes)).items) {
      const has = podCidrsOf(node)
      if (has.length > 0) nodeCidrs.occupy(node.metadata.name, has)
    }
  }
  const recordStatus = (node: Node, status: string): void => {
    const message = `Node ${node.metadata.name} status is now: ${status}`
    recorder.record(node, { type: 'Normal', reason: status, message })
  }

  return async ({ key: name, client }) => {
    const node = allNodes.get(name)
    if (node === undefined || isBeingDeleted(node) || podCidrsOf(node).length > 0) return undefined
    loading ??= loadAllocations(client)
    await loading.catch((error: unknown) => {
      loading = undefined
      throw error
    })
    // The allocation is kept even if the write fails: it may have succeeded, and the retry uses the same
    // CIDRs.
    const allocated = nodeCidrs.allocate(name)
    if (allocated === undefined) {
      waiting.add(name)
      recordStatus(node, 'CIDRNotAvailable')
      return undefined
    }
    waiting.delete(name)
    const podCIDRs = allocated.map(formatCidr)
    const patch = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } }
    try {
      await client.patch(nodes, { name }, { type: 'strategic', patch })
    } catch (error) {
      recordStatus(node, 'CIDRAssignmentFailed')
      throw error
    }
    return undefined
  }
}

function podCidrsOf({ spec }: Node): readonly Cidr[] {
  const { podCIDR, podCIDRs = podCIDR ? [podCIDR] : [] } = spec ?? {}
  return podCIDRs.flatMap(text => parseCidr(text) ?? [])
}
