/**
 * All nodes with their pods at one moment. A snapshot never changes; the next one shares with it whatever stayed the
 * same.
 */
import type { NodeInfo } from './node-info.ts'

export interface SnapshotParts {
  /** In an order that goes from zone to zone, so that whoever looks at some of them only looks at all zones. */
  readonly nodes: readonly NodeInfo[]
  /** Where each node is among them. */
  readonly positions: ReadonlyMap<string, number>
  /** How many nodes have pods that want others near or far. */
  readonly nodesWithAffinity: number
  readonly nodesWithRequiredAntiAffinity: number
  /** On how many nodes each image is, by every name that it has, and how large it is. */
  readonly images: ReadonlyMap<string, ImageState>
  /** Grows with each change. */
  readonly generation: number
}

export interface ImageState {
  readonly sizeBytes: number
  readonly nodes: number
}

export class Snapshot implements SnapshotParts {
  readonly nodes: readonly NodeInfo[]
  readonly positions: ReadonlyMap<string, number>
  readonly nodesWithAffinity: number
  readonly nodesWithRequiredAntiAffinity: number
  readonly images: ReadonlyMap<string, ImageState>
  readonly generation: number

  constructor(parts: SnapshotParts) {
    this.nodes = parts.nodes
    this.positions = parts.positions
    this.nodesWithAffinity = parts.nodesWithAffinity
    this.nodesWithRequiredAntiAffinity = parts.nodesWithRequiredAntiAffinity
    this.images = parts.images
    this.generation = parts.generation
  }

  get(name: string): NodeInfo | undefined {
    const position = this.positions.get(name)
    return position === undefined ? undefined : this.nodes[position]
  }
}

export const emptySnapshot = new Snapshot({
  nodes: [],
  positions: new Map(),
  nodesWithAffinity: 0,
  nodesWithRequiredAntiAffinity: 0,
  images: new Map(),
  generation: 0,
})
