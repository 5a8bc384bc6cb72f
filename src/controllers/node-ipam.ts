/**
 * Gives each node the ranges from which its pods get their addresses: one of each range of the cluster.
 * Which a node has stands in the node; what was given and does not stand there yet is remembered for so
 * long.
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
  /** One, or one of each family, the preferred one first. */
  readonly clusterCidrs: readonly string[]
  /** How large the range of a node is. */
  readonly prefixLengths?: { readonly ipv4?: number; readonly ipv6?: number }
  /** Ranges of services: where they lie in those of the cluster, no node gets them. */
  readonly serviceCidrs?: readonly string[]
}

const prefixLengthsUsual = { ipv4: 24, ipv6: 64 }

/** Throws Error when the ranges do not fit each other. */
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
  // People should hear of a mistake before anything runs.
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
  /** Nodes for which nothing was left. */
  const waiting = new Set<string>()
  allNodes.onChange((name, { before, after }) => {
    const has = after ? rangesOf(after) : []
    if (after === undefined) {
      ranges.release(name)
      waiting.delete(name)
      for (const other of waiting) enqueue(other)
    } else if (has.length > 0) ranges.hold(name, has)
    else if (before === undefined || rangesOf(before).length > 0) enqueue(name)
  })
  /**
   * What the process before this one gave last may not be in the copy yet, and a range that is given stays
   * given.
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
    // Kept also when the next fails: whether it arrived is not known, and the next try gives the same.
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
