/**
 * The scheduler's cache of nodes and their pods: objects from the informers, and assumed pods that are
 * scheduled but not yet seen as bound. The cost of a snapshot depends only on the changes since the last one.
 */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { zoneKeyOf } from '#/api/core/zone.ts'
import { ChangedPositions } from './changed-positions.ts'
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

  /** Number of nodes, pods and assumed pods. */
  get sizes(): Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>> {
    const assumed = this.#pods.values().reduce((count, { isAssumed }) => count + (isAssumed ? 1 : 0), 0)
    return { nodes: this.#nodes.size, pods: this.#pods.size, assumed_pods: assumed }
  }

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
    this.#snapshot = this.#isOrderStale ? this.#reordered() : this.#updated()
    this.#changed.clear()
    this.#isOrderStale = false
    return this.#snapshot
  }

  #reordered(): Snapshot {
    const nodes = nodesInZoneOrder([...this.#nodes.values()])
    const generation = this.#snapshot.generation + 1
    const tally = noNodes()
    for (const info of nodes) count(tally, info, 1)
    return new Snapshot({
      nodes,
      ...tally,
      positions: new Map(nodes.map((info, index) => [info.name, index])),
      images: this.#images.share(),
      generation,
      changes: new ChangedPositions(generation, nodes.length),
    })
  }

  #updated(): Snapshot {
    const last = this.#snapshot
    const nodes = last.nodes.slice()
    const changed: number[] = []
    const { positions, changes, nodesWithAffinity, nodesWithRequiredAntiAffinity } = last
    const { nodesWithTaints, unschedulableNodes } = last
    const tally = { nodesWithAffinity, nodesWithRequiredAntiAffinity, nodesWithTaints, unschedulableNodes }
    for (const name of this.#changed) {
      const info = this.#nodes.get(name)
      const position = positions.get(name)
      if (info === undefined || position === undefined) continue
      count(tally, nodes[position]!, -1)
      count(tally, info, 1)
      nodes[position] = info
      changed.push(position)
    }
    changes.add(changed)
    const images = this.#images.share()
    return new Snapshot({ nodes, ...tally, positions, images, generation: last.generation + 1, changes })
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

/** Numbers of nodes with something that only few clusters or few nodes have. */
type Tally = {
  -readonly [
    Name in 'nodesWithAffinity' | 'nodesWithRequiredAntiAffinity' | 'nodesWithTaints' | 'unschedulableNodes'
  ]: Snapshot[Name]
}

function noNodes(): Tally {
  return { nodesWithAffinity: 0, nodesWithRequiredAntiAffinity: 0, nodesWithTaints: 0, unschedulableNodes: 0 }
}

function count(
  tally: Tally,
  { node, podsWithAffinity, podsWithRequiredAntiAffinity }: NodeInfo,
  sign: 1 | -1,
): void {
  if (podsWithAffinity.length > 0) tally.nodesWithAffinity += sign
  if (podsWithRequiredAntiAffinity.length > 0) tally.nodesWithRequiredAntiAffinity += sign
  if (node.spec?.taints?.length) tally.nodesWithTaints += sign
  if (node.spec?.unschedulable) tally.unschedulableNodes += sign
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
