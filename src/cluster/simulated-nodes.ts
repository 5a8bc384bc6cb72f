/** Names, addresses and capacity of simulated nodes. */
import type { NodeShape } from '#/kubelet/hollow-kubelet.ts'

export interface SimulatedNodeOptions extends Partial<
  Pick<NodeShape, 'name' | 'labels' | 'taints' | 'capacity'>
> {}

/** Contains the addresses of all simulated pods. */
export const simulatedPodCidr = '10.64.0.0/10'

/** The node with this number, counted from 0. Names and addresses are unique. */
export function simulatedNode(number: number, options: SimulatedNodeOptions = {}): NodeShape {
  const [high, low] = [number >> 8, number & 255]
  return {
    name: options.name ?? `node-${number + 1}`,
    address: `172.18.${Math.floor(number / 250)}.${2 + (number % 250)}`,
    podCidr: `10.${64 + high}.${low}.0/24`,
    ...(options.labels && { labels: options.labels }),
    ...(options.taints && { taints: options.taints }),
    ...(options.capacity && { capacity: options.capacity }),
  }
}
