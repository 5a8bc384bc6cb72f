/**
 * All nodes with their pods at one moment. A snapshot is immutable and shares unchanged parts with the
 * previous one.
 */
import { ChangedPositions } from './changed-positions.ts'
import type { NodeInfo } from './node-info.ts'

export interface SnapshotParts {
  /** Ordered round-robin over the zones, so that examining only some nodes covers all zones. */
  readonly nodes: readonly NodeInfo[]
  /** Index of each node in `nodes`. */
  readonly positions: ReadonlyMap<string, number>
  /** Number of nodes with pods that have inter-pod affinity or anti-affinity. */
  readonly nodesWithAffinity: number
  readonly nodesWithRequiredAntiAffinity: number
  readonly nodesWithTaints: number
  readonly unschedulableNodes: number
  /** Number of nodes with each image, and its size, by every name of the image. */
  readonly images: ReadonlyMap<string, ImageState>
  /** Increases with each snapshot. */
  readonly generation: number
  /** Of the snapshots with the same `positions`. */
  readonly changes: ChangedPositions
}

export interface ImageState {
  readonly sizeBytes: number
  readonly nodes: number
}

/** Identifies a snapshot without keeping its nodes in memory. */
export interface SnapshotVersion {
  readonly positions: ReadonlyMap<string, number>
  readonly generation: number
}

export class Snapshot implements SnapshotParts {
  readonly nodes: readonly NodeInfo[]
  readonly positions: ReadonlyMap<string, number>
  readonly nodesWithAffinity: number
  readonly nodesWithRequiredAntiAffinity: number
  readonly nodesWithTaints: number
  readonly unschedulableNodes: number
  readonly images: ReadonlyMap<string, ImageState>
  readonly generation: number
  readonly changes: ChangedPositions
  readonly version: SnapshotVersion

  constructor(parts: SnapshotParts) {
    this.nodes = parts.nodes
    this.positions = parts.positions
    this.nodesWithAffinity = parts.nodesWithAffinity
    this.nodesWithRequiredAntiAffinity = parts.nodesWithRequiredAntiAffinity
    this.nodesWithTaints = parts.nodesWithTaints
    this.unschedulableNodes = parts.unschedulableNodes
    this.images = parts.images
    this.generation = parts.generation
    this.changes = parts.changes
    this.version = { positions: parts.positions, generation: parts.generation }
  }

  get(name: string): NodeInfo | undefined {
    const position = this.positions.get(name)
    return position === undefined ? undefined : this.nodes[position]
  }

  /** Positions of nodes that differ from another snapshot; undefined if all may, or have moved. */
  changedSince({ positions, generation }: SnapshotVersion): readonly number[] | undefined {
    return positions === this.positions ? this.changes.between(generation, this.generation) : undefined
  }
}

export const emptySnapshot = new Snapshot({
  nodes: [],
  positions: new Map(),
  nodesWithAffinity: 0,
  nodesWithRequiredAntiAffinity: 0,
  nodesWithTaints: 0,
  unschedulableNodes: 0,
  images: new Map(),
  generation: 0,
  changes: new ChangedPositions(0, 0),
})
