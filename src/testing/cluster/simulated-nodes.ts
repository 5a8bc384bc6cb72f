import type { ControlPlane } from '#/cluster/control-plane.ts'
import type { NodeShape } from '#/kubelet/hollow-kubelet.ts'
import { simulatedNode, type SimulatedNodeOptions } from '#/cluster/simulated-nodes.ts'

/** Running and stopped nodes of a cluster, by name. */
export class SimulatedNodes {
  readonly #controlPlane: Pick<ControlPlane, 'startNode' | 'stopNode'>
  readonly #shapes = new Map<string, NodeShape>()
  readonly #running = new Set<string>()

  constructor(controlPlane: Pick<ControlPlane, 'startNode' | 'stopNode'>) {
    this.#controlPlane = controlPlane
  }

  start(options: SimulatedNodeOptions): string {
    const known = this.#shapes.get(options.name ?? '')
    const node = known === undefined ? this.#make(options) : { ...known, ...options }
    const { name } = node
    if (this.#running.has(name)) throw new Error(`node ${name} is already running`)
    this.#shapes.set(name, node)
    this.#running.add(name)
    this.#controlPlane.startNode(node)
    return name
  }

  async stop(name: string): Promise<void> {
    if (!this.#running.delete(name)) throw new Error(`node ${name} is not running`)
    await this.#controlPlane.stopNode(name)
  }

  /** Avoids generated names that collide with a chosen one. */
  #make(options: SimulatedNodeOptions): NodeShape {
    const node = simulatedNode(this.#shapes.size, options)
    if (!this.#shapes.has(node.name)) return node
    for (let number = this.#shapes.size + 1; ; number++) {
      const name = `node-${number}`
      if (!this.#shapes.has(name)) return { ...node, name }
    }
  }
}
