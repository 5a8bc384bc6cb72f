/**
 * Sets the TTL annotation of nodes, for which kubelets may cache secrets and config maps: it grows with the
 * number of nodes, to limit the load on the API server.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const nodeTtlController: Controller = {
  name: 'ttl-controller',
  queueName: 'ttlcontroller',
  account: 'ttl-controller',
  setUp,
}

const annotation = 'node.alpha.kubernetes.io/ttl'

/**
 * Ranges of node counts. They overlap (hysteresis), so that a single added or removed node does not change
 * the TTL.
 */
const steps = [
  { min: 0, max: 100, ttlSeconds: 0 },
  { min: 90, max: 500, ttlSeconds: 15 },
  { min: 450, max: 1_000, ttlSeconds: 30 },
  { min: 900, max: 2_000, ttlSeconds: 60 },
  { min: 1_800, max: Infinity, ttlSeconds: 300 },
] as const

/** The step for this number of nodes, given the previous step. */
export function planTtlStep(step: number, nodeCount: number): number {
  if (nodeCount > steps[step]!.max) return planTtlStep(step + 1, nodeCount)
  return nodeCount < steps[step]!.min ? planTtlStep(step - 1, nodeCount) : step
}

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const allNodes = informer(nodes)
  let count = 0
  let step = 0
  const wanted = (): string => String(steps[step]!.ttlSeconds)
  const isRight = (node: Node): boolean => node.metadata.annotations?.[annotation] === wanted()
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    count += (newObject ? 1 : 0) - (oldObject ? 1 : 0)
    const next = planTtlStep(step, count)
    const isMoved = next !== step
    step = next
    if (isMoved) for (const node of allNodes.list()) enqueue(node.metadata.name)
    else if (newObject && !isRight(newObject)) enqueue(name)
  })

  return async ({ key: name, client }) => {
    const node = allNodes.get(name)
    if (node === undefined || isRight(node)) return undefined
    const patch = { metadata: { annotations: { [annotation]: wanted() } } }
    try {
      await client.patch(nodes, { name }, { type: 'strategic', patch })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }
}
