import { LruMap } from '#/base/lru-map.ts'
import type { ResourceAmounts } from '../../resource-amounts.ts'
import { scoreMax, type ScoreState } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import { NodeValues } from '../node-values.ts'

type Strategy = (pod: PodInfo, snapshot: Snapshot) => ScoreState

/** Score of a node for one resource, from requested and allocatable amounts. */
type ResourceScore = (requested: number, allocatable: number) => number

export interface WeightedResource {
  readonly name: string
  readonly weight: number
}

export interface StrategySettings {
  readonly type?: string
  readonly resources?: readonly { readonly name: string; readonly weight?: number }[]
  readonly requestedToCapacityRatio?: { readonly shape?: readonly ShapePoint[] }
}

export interface ShapePoint {
  readonly utilization: number
  readonly score: number
}

const resourcesUsual: readonly WeightedResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]

/** Maximum score of a shape point in the configuration. */
const shapeScoreMax = 10

/** The settings must be validated. */
export function strategyFor(settings: StrategySettings): Strategy {
  const { type = 'LeastAllocated', resources = [], requestedToCapacityRatio } = settings
  // An absent or zero weight means 1.
  const weighted =
    resources.length === 0
      ? resourcesUsual
      : resources.map(({ name, weight }) => ({ name, weight: weight || 1 }))
  if (type === 'MostAllocated') return strategyOf(weighted, mostAllocated, Math.trunc)
  if (type === 'LeastAllocated') return strategyOf(weighted, leastAllocated, Math.trunc)
  // Unlike the other strategies, this one skips resources with score 0.
  return strategyOf(weighted, byShape(requestedToCapacityRatio?.shape ?? []), Math.round)
}

/** Resources that are scored even if the pod does not request them. */
export function isScoredByDefault(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource === 'ephemeral-storage'
}

/** The amount of a resource by name. */
export function amountOf(amounts: ResourceAmounts, name: string): number {
  if (name === 'cpu') return amounts.cpu
  if (name === 'memory') return amounts.memory
  return name === 'ephemeral-storage' ? amounts.ephemeralStorage : (amounts.scalarResources.get(name) ?? 0)
}

function strategyOf(
  resources: readonly WeightedResource[],
  scoreOf: ResourceScore,
  rounded: (average: number) => number,
): Strategy {
  const known = new LruMap<string, NodeValues>(requestsMax)
  return ({ nonZeroRequests }, snapshot) => {
    const asked = resources
      .map(({ name, weight }) => ({ name, weight, amount: amountOf(nonZeroRequests, name) }))
      .filter(({ name, amount }) => amount > 0 || isScoredByDefault(name))
    const score = (info: NodeInfo): number => {
      let sum = 0
      let weights = 0
      for (let index = 0; index < asked.length; index++) {
        const { name, weight, amount } = asked[index]!
        const allocatable = amountOf(info.allocatable, name)
        if (allocatable === 0) continue
        const one = scoreOf(amountOf(info.nonZeroRequested, name) + amount, allocatable)
        if (one === leftOut) continue
        sum += one * weight
        weights += weight
      }
      return weights === 0 ? 0 : rounded(sum / weights)
    }
    // Pods of one Deployment have equal requests: only nodes that have changed since the last pod are scored again.
    const key = asked.map(({ name, amount }) => `${name}=${amount}`).join()
    const values = known.get(key) ?? new NodeValues(score)
    known.set(key, values)
    return { score: values.at(snapshot) }
  }
}

/** Maximum number of different requests whose scores are cached; the least recently used are evicted. */
const requestsMax = 64

/** Marks a resource without a score. */
const leftOut = -1

function leastAllocated(requested: number, allocatable: number): number {
  return requested > allocatable ? 0 : Math.trunc(((allocatable - requested) * scoreMax) / allocatable)
}

function mostAllocated(requested: number, allocatable: number): number {
  return Math.trunc((Math.min(requested, allocatable) * scoreMax) / allocatable)
}

/** Linear interpolation between the shape points. */
function byShape(shape: readonly ShapePoint[]): ResourceScore {
  return (requested, allocatable) => {
    const score = onShape(shape, requested > allocatable ? 100 : Math.trunc((requested * 100) / allocatable))
    return score > 0 ? score : leftOut
  }
}

function onShape(shape: readonly ShapePoint[], utilization: number): number {
  const next = shape.findIndex(point => utilization <= point.utilization)
  if (next === -1) return scaled(shape.at(-1)?.score ?? 0)
  const [from, to] = [shape[next - 1], shape[next]!]
  if (from === undefined) return scaled(to.score)
  const rise = (scaled(to.score) - scaled(from.score)) * (utilization - from.utilization)
  return scaled(from.score) + Math.trunc(rise / (to.utilization - from.utilization))
}

function scaled(score: number): number {
  return (score * scoreMax) / shapeScoreMax
}
