/**
 * Resource pools, published as ResourceSlices. A pool is used only if all slices of its newest generation are
 * known; otherwise it is being updated.
 */
import type { Node } from '#/api/generated/core/v1.ts'
import type { CounterSet, Device, ResourceSlice } from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { compareInt64 } from '#/api/text/int64.ts'
import { compileNodeSelector, type NodeSelector, type NodeTest } from '#/api/selectors/node-selector.ts'
import { deviceIdOf } from './allocated-devices.ts'

export interface Candidate {
  readonly id: string
  readonly driver: string
  readonly pool: Pool
  readonly device: Device
  readonly slice: Stored<ResourceSlice>
}

export interface Pool {
  /** `driver/pool`. */
  readonly id: string
  readonly driver: string
  readonly name: string
  readonly state: 'usable' | 'incomplete' | 'invalid'
  /** The slices usable by the node, and all slices of the pool. */
  readonly slices: readonly Stored<ResourceSlice>[]
  readonly all: readonly Stored<ResourceSlice>[]
  readonly counterSets: ReadonlyMap<string, CounterSet>
}

export interface SlicesWorld {
  /** Slices for this node only. */
  readonly ofNode: (node: string) => readonly Stored<ResourceSlice>[]
  /** Slices for several nodes, or with counters. */
  readonly shared: () => readonly Stored<ResourceSlice>[]
  readonly ofPool: (driver: string, pool: string) => readonly Stored<ResourceSlice>[]
}

/** The pools usable by a node, in allocation order. */
export function gatherPools(node: Stored<Node>, world: SlicesWorld): readonly Pool[] {
  const newest = new Map<string, Stored<ResourceSlice>[]>()
  for (const slice of world.ofNode(node.metadata.name)) addNewest(newest, slice)
  for (const slice of world.shared()) if (isRelevant(slice, node)) addNewest(newest, slice)
  const pools = [...newest.values()].flatMap(slices => poolOf(slices, world))
  // Devices with binding conditions are allocated last.
  return pools.toSorted(
    (left, right) => Number(isSlow(left)) - Number(isSlow(right)) || compareIds(left, right),
  )
}

/** The devices in the usable slices of a pool; per-device node selection is not evaluated. */
export function candidatesOf(pool: Pool): readonly Candidate[] {
  return pool.slices.flatMap(slice =>
    (slice.spec.devices ?? []).map(device => {
      const id = deviceIdOf(pool.driver, pool.name, device.name)
      return { id, driver: pool.driver, pool, device, slice }
    }),
  )
}

/** Evaluates per-device node selection. */
export function isUsableOn({ slice, device }: Candidate, node: Node): boolean {
  return slice.spec.perDeviceNodeSelection !== true || isMeant(device, node)
}

function addNewest(newest: Map<string, Stored<ResourceSlice>[]>, slice: Stored<ResourceSlice>): void {
  const { driver, pool } = slice.spec
  const id = `${driver}/${pool.name}`
  const known = newest.get(id)
  const order = known === undefined ? 1 : compareInt64(pool.generation, known[0]!.spec.pool.generation)
  if (order > 0) newest.set(id, [slice])
  else if (order === 0) known!.push(slice)
}

function poolOf(found: readonly Stored<ResourceSlice>[], world: SlicesWorld): readonly Pool[] {
  const { driver, pool } = found[0]!.spec
  const count = Number(pool.resourceSliceCount)
  const all = found.length === count ? found : newestOf(world.ofPool(driver, pool.name))
  // The slices for the node may be outdated by a newer generation without slices for it.
  if (all.length > 0 && compareInt64(all[0]!.spec.pool.generation, pool.generation) > 0) return []
  const slices = found
    .filter(({ spec }) => (spec.sharedCounters ?? []).length === 0)
    .toSorted((left, right) => compareText(left.metadata.name, right.metadata.name))
  const counterSets = counterSetsOf(found)
  const isValid = counterSets !== undefined && hasUniqueNames(slices) && areCountersKnown(all, counterSets)
  return [
    {
      id: `${driver}/${pool.name}`,
      driver,
      name: pool.name,
      state: all.length === count ? (isValid ? 'usable' : 'invalid') : 'incomplete',
      slices,
      all,
      counterSets: counterSets ?? new Map(),
    },
  ]
}

function newestOf(slices: readonly Stored<ResourceSlice>[]): readonly Stored<ResourceSlice>[] {
  const newest = new Map<string, Stored<ResourceSlice>[]>()
  for (const slice of slices) addNewest(newest, slice)
  return [...newest.values()].flat()
}

/** Undefined if a name is not unique. */
function counterSetsOf(slices: readonly ResourceSlice[]): ReadonlyMap<string, CounterSet> | undefined {
  const sets = new Map<string, CounterSet>()
  for (const set of slices.flatMap(({ spec }) => spec.sharedCounters ?? [])) {
    if (sets.has(set.name)) return undefined
    sets.set(set.name, set)
  }
  return sets
}

function hasUniqueNames(slices: readonly ResourceSlice[]): boolean {
  const names = slices.flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name))
  return new Set(names).size === names.length
}

function areCountersKnown(slices: readonly ResourceSlice[], sets: ReadonlyMap<string, CounterSet>): boolean {
  return slices.every(({ spec }) =>
    (spec.devices ?? []).every(({ consumesCounters = [] }) =>
      consumesCounters.every(({ counterSet, counters }) => {
        const known = sets.get(counterSet)?.counters
        return known !== undefined && Object.keys(counters).every(name => Object.hasOwn(known, name))
      }),
    ),
  )
}

/** Slices with counters are needed for all devices that consume them. */
function isRelevant({ spec }: ResourceSlice, node: Node): boolean {
  if ((spec.sharedCounters ?? []).length > 0) return true
  if (spec.perDeviceNodeSelection === true)
    return spec.devices?.some(device => isMeant(device, node)) ?? false
  return isMeant(spec, node)
}

function isMeant(
  { nodeName, allNodes, nodeSelector }: Pick<Device, 'nodeName' | 'allNodes' | 'nodeSelector'>,
  node: Node,
): boolean {
  if (nodeName) return nodeName === node.metadata.name
  return allNodes === true || (nodeSelector !== undefined && compile(nodeSelector)(node))
}

const compiled = new WeakMap<NodeSelector, NodeTest>()

function compile(selector: NodeSelector): NodeTest {
  const known = compiled.get(selector)
  if (known !== undefined) return known
  const made = compileNodeSelector(selector)
  compiled.set(selector, made)
  return made
}

function isSlow({ state, slices }: Pool): boolean {
  if (state !== 'usable') return false
  return slices.some(({ spec }) =>
    spec.devices?.some(({ bindingConditions = [] }) => bindingConditions.length > 0),
  )
}

function compareIds(left: Pool, right: Pool): number {
  return compareText(left.driver, right.driver) || compareText(left.name, right.name)
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
