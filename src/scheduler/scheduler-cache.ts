/**
 * The scheduler's cache of nodes and their pods: objects from the informers, and assumed pods that are
 * scheduled but not yet seen as bound. The cost of a snapshot depends only on the changes since the last one.
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { zoneKeyOf } from '#/api/core/zone.ts'
import { nodeInfoOf, withNode, withPod, withoutPod, type NodeInfo } from './node-info.ts'
import { podInfoOf, type PodInfo } from './pod-info.ts'
import { Snapshot, emptySnapshot, type ImageState } from './snapshot.ts'

interface PlacedPod {
  readonly node: string
  readonly info: PodInfo
  /** True until an informer has confirmed the node. */
  readonly isAssumed: boolean
}

export class SchedulerCache {
  readonly #nodes = new Map<string, NodeInfo>()
  /** By uid. */
  readonly #pods = new Map<string, PlacedPod>()
  /** Pods on nodes that are not known, or not yet, by node name. */
  readonly #podsWithoutNode = new Map<string, Map<string, PodInfo>>()
  readonly #changed = new Set<string>()
  readonly #images = new ImageStates()
  #isOrderStale = false
  #snapshot = emptySnapshot

  get nodeCount(): number {
    return this.#nodes.size
  }

  /** The node of a pod, by uid, if known. */
  nodeOf(uid: string): string | undefined {
    return this.#pods.get(uid)?.node
  }

  setNode(node: Stored<Node>): void {
    const name = node.metadata.name
    const known = this.#nodes.get(name)
    if (known === undefined) {
      const pods = [...(this.#podsWithoutNode.get(name)?.values() ?? [])]
      this.#podsWithoutNode.delete(name)
      this.#nodes.set(name, nodeInfoOf(node, pods))
      this.#isOrderStale = true
    } else {
      this.#nodes.set(name, withNode(known, node))
      if (zoneKeyOf(known.node) !== zoneKeyOf(node)) this.#isOrderStale = true
    }
    this.#images.change(known?.node.status?.images, node.status?.images)
    this.#changed.add(name)
  }

  /** The pods on the node are kept, since the node may come back. */
  removeNode(name: string): void {
    const known = this.#nodes.get(name)
    if (known === undefined) return
    if (known.pods.length > 0) this.#podsWithoutNode.set(name, new Map(known.pods.map(pod => [pod.uid, pod])))
    this.#nodes.delete(name)
    this.#isOrderStale = true
    this.#images.change(known.node.status?.images, undefined)
  }

  /** Called for informer events, which override assumptions. */
  setPod(pod: Stored<Pod>): void {
    const node = pod.spec?.nodeName
    if (!node || isEnded(pod)) return this.removePod(pod)
    this.#place(podInfoOf(pod), node, false)
  }

  removePod(pod: Stored<Pod>): void {
    this.#unplace(pod.metadata.uid)
  }

  /** Places the pod on the node until an informer reports otherwise. */
  assume(info: PodInfo, node: string): void {
    this.#place(info, node, true)
  }

  /** Removes an assumed pod after a failed binding. A confirmed pod stays. */
  forget(uid: string): void {
    if (this.#pods.get(uid)?.isAssumed) this.#unplace(uid)
  }

  isAssumed(uid: string): boolean {
    return this.#pods.get(uid)?.isAssumed ?? false
  }

  snapshot(): Snapshot {
    if (this.#changed.size === 0 && !this.#isOrderStale) return this.#snapshot
    const last = this.#snapshot
    const isReordered = this.#isOrderStale
    const nodes = isReordered ? nodesInZoneOrder([...this.#nodes.values()]) : last.nodes.slice()
    const positions = isReordered ? new Map(nodes.map((info, index) => [info.name, index])) : last.positions
    let { nodesWithAffinity, nodesWithRequiredAntiAffinity } = last
    if (isReordered) {
      nodesWithAffinity = nodes.reduce((count, info) => count + hasAffinity(info), 0)
      nodesWithRequiredAntiAffinity = nodes.reduce((count, info) => count + hasRequiredAntiAffinity(info), 0)
    } else {
      for (const name of this.#changed) {
        const info = this.#nodes.get(name)
        const position = positions.get(name)
        if (info === undefined || position === undefined) continue
        nodesWithAffinity += hasAffinity(info) - hasAffinity(nodes[position]!)
        nodesWithRequiredAntiAffinity +=
          hasRequiredAntiAffinity(info) - hasRequiredAntiAffinity(nodes[position]!)
        nodes[position] = info
      }
    }
    this.#snapshot = new Snapshot({
      nodes,
      positions,
      nodesWithAffinity,
      nodesWithRequiredAntiAffinity,
      images: this.#images.share(),
      generation: last.generation + 1,
    })
    this.#changed.clear()
    this.#isOrderStale = false
    return this.#snapshot
  }

  #place(info: PodInfo, node: string, isAssumed: boolean): void {
    const before = this.#pods.get(info.uid)
    if (before?.node === node && before.info === info) {
      if (before.isAssumed && !isAssumed) this.#pods.set(info.uid, { node, info, isAssumed })
      return
    }
    if (before !== undefined) this.#unplace(info.uid)
    this.#pods.set(info.uid, { node, info, isAssumed })
    const known = this.#nodes.get(node)
    if (known !== undefined) {
      this.#nodes.set(node, withPod(known, info))
      this.#changed.add(node)
      return
    }
    const homeless = this.#podsWithoutNode.get(node)
    if (homeless === undefined) this.#podsWithoutNode.set(node, new Map([[info.uid, info]]))
    else homeless.set(info.uid, info)
  }

  #unplace(uid: string): void {
    const placed = this.#pods.get(uid)
    if (placed === undefined) return
    this.#pods.delete(uid)
    const known = this.#nodes.get(placed.node)
    if (known === undefined) {
      const homeless = this.#podsWithoutNode.get(placed.node)
      homeless?.delete(uid)
      if (homeless?.size === 0) this.#podsWithoutNode.delete(placed.node)
      return
    }
    this.#nodes.set(placed.node, withoutPod(known, uid))
    this.#changed.add(placed.node)
  }
}

function hasAffinity(info: NodeInfo): 0 | 1 {
  return info.podsWithAffinity.length > 0 ? 1 : 0
}

function hasRequiredAntiAffinity(info: NodeInfo): 0 | 1 {
  return info.podsWithRequiredAntiAffinity.length > 0 ? 1 : 0
}

function isEnded({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** Orders nodes round-robin over the zones. */
function nodesInZoneOrder(infos: readonly NodeInfo[]): NodeInfo[] {
  const zones = Map.groupBy(infos, info => zoneKeyOf(info.node))
  if (zones.size <= 1) return [...infos]
  const ordered: NodeInfo[] = []
  for (let round = 0; ordered.length < infos.length; round++) {
    for (const zone of zones.values()) {
      const info = zone[round]
      if (info !== undefined) ordered.push(info)
    }
  }
  return ordered
}

type Images = NonNullable<Node['status']>['images']

/**
 * Number of nodes with each image. An update costs as much as the changed images, plus a copy of the map
 * after each snapshot (copy-on-write).
 */
class ImageStates {
  #states = new Map<string, ImageState>()
  /** True if a snapshot holds the map, which must then not be modified. */
  #isShared = false

  /** Updates the images of a node; `before` is undefined for a new node, `after` for a removed one. */
  change(before: Images, after: Images): void {
    if (before === after) return
    if (this.#isShared) {
      this.#states = new Map(this.#states)
      this.#isShared = false
    }
    this.#count(after, 1)
    this.#count(before, -1)
  }

  share(): ReadonlyMap<string, ImageState> {
    this.#isShared = true
    return this.#states
  }

  #count(images: Images, more: 1 | -1): void {
    for (const { names = [], sizeBytes = 0 } of images ?? []) {
      for (const name of names) {
        const known = this.#states.get(name)
        const nodes = (known?.nodes ?? 0) + more
        if (nodes === 0) this.#states.delete(name)
        else this.#states.set(name, { sizeBytes: known?.sizeBytes ?? Number(sizeBytes), nodes })
      }
    }
  }
}
