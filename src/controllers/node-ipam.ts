/**
 * Allocates pod CIDRs to nodes, one from each cluster CIDR. The node's spec is the only record of an
 * allocation; allocations that are not yet visible there are kept in memory.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-controller
 */
import { formatCidr, parseCidr, type Cidr } from '#/api/cidr.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { NodeRanges } from './node-ipam/node-ranges.ts'
import { Subnets } from './node-ipam/subnets.ts'

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
  const pools = (): readonly Subnets[] => {
    return settings.clusterCidrs.map(cluster => {
      const subnets = new Subnets(cluster, cluster.includes(':') ? prefixLengths.ipv6 : prefixLengths.ipv4)
      for (const text of settings.serviceCidrs ?? []) {
        const cidr = parseCidr(text)
        if (cidr) subnets.hold(cidr)
      }
      return subnets
    })
  }
  // Fail at startup if the settings are invalid.
  pools()
  return {
    name: 'node-ipam-controller',
    account: 'node-controller',
    component: 'cidrAllocator',
    workers: 30,
    setUp: context => setUp(context, pools()),
  }
}

function setUp({ recorder, informer, enqueue }: ControllerContext, pools: readonly Subnets[]): Reconcile {
  const allNodes = informer(nodes)
  const ranges = new NodeRanges(pools)
  /** Nodes for which no CIDR was left. */
  const waiting = new Set<string>()
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    const has = newObject ? rangesOf(newObject) : []
    if (newObject === undefined) {
      ranges.release(name)
      waiting.delete(name)
      for (const other of waiting) enqueue(other)
    } else if (has.length > 0) ranges.hold(name, has)
    else if (oldObject === undefined || rangesOf(oldObject).length > 0) enqueue(name)
  })
  /**
   * Allocations that a previous process wrote last may not be visible in the informer yet, and an allocated
   * CIDR never changes.
   */
  let learning: Promise<void> | undefined
  const learn = async (client: Client): Promise<void> => {
    for (const node of (await client.listAll(nodes)).items) {
      const has = rangesOf(node)
      if (has.length > 0) ranges.hold(node.metadata?.name ?? '', has)
    }
  }
  const tell = (node: Node, status: string): void => {
    const message = `Node ${node.metadata?.name} status is now: ${status}`
    recorder.record(node, { type: 'Normal', reason: status, message })
  }

  return async ({ key: name, client }) => {
    const node = allNodes.get(name)
    if (node === undefined || isBeingDeleted(node) || rangesOf(node).length > 0) return undefined
    learning ??= learn(client)
    await learning.catch((error: unknown) => {
      learning = undefined
      throw error
    })
    // The allocation is kept even if the write fails: it may have succeeded, and the retry uses the same
    // CIDRs.
    const given = ranges.give(name)
    if (given === undefined) {
      waiting.add(name)
      tell(node, 'CIDRNotAvailable')
      return undefined
    }
    waiting.delete(name)
    const podCIDRs = given.map(formatCidr)
    const patch = { metadata: { uid: node.metadata?.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } }
    try {
      await client.patch(nodes, { name }, { type: 'strategic', patch })
    } catch (error) {
      tell(node, 'CIDRAssignmentFailed')
      throw error
    }
    return undefined
  }
}

function rangesOf({ spec }: Node): readonly Cidr[] {
  const { podCIDR, podCIDRs = podCIDR ? [podCIDR] : [] } = spec ?? {}
  return podCIDRs.flatMap(text => parseCidr(text) ?? [])
}
