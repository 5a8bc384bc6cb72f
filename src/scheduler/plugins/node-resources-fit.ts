import { LruMap } from '#/base/lru-map.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { isExtendedResource } from '#/api/core/pod-resources.ts'
import type { ResourceAmounts } from '../resource-amounts.ts'
import { deviceClassOf, type DeviceClassOf } from '../device-classes.ts'
import {
  type FilterState,
  type PluginHandle,
  type PluginFactory,
  type Unschedulable,
  clusterEventWithHint,
} from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { nodeInfoOf } from '../node-info.ts'
import { podInfoOf } from '../pod-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { NodeValues } from './node-values.ts'
import { readArgs, type NodeResourcesFitArgs } from './node-resources-fit/args.ts'
import { strategyFor, amountOf } from './node-resources-fit/strategy.ts'

/** Filters out nodes with insufficient resources, and scores nodes by one of three strategies. */
export const nodeResourcesFit: PluginFactory = (handle, args) => {
  const read = readArgs(args)
  const rules = { isIgnored: ignored(read), isByDevices: byDevices(handle) }
  const strategy = strategyFor(read.scoringStrategy ?? {})
  const fitting = new LruMap<string, NodeValues>(requestsMax)
  return {
    name: 'NodeResourcesFit',
    eventsToRegister: [
      clusterEventWithHint({
        resource: pods,
        on: ['update', 'delete'],
        queueingHint: (pod, { before, after }) => freesSomething(pod, before, after),
      }),
      clusterEventWithHint({
        resource: nodes,
        on: ['add', 'update'],
        queueingHint: (pod, { before, after }) => {
          return hasEnough(pod, after, rules) && (before === undefined || givesMore(pod, before, after))
        },
      }),
    ],
    preFilter: ({ requests }, snapshot) => {
      const state = fitStateOf(requests, rules)
      return requests.scalarResources.size > 0 ? state : remembered(state, { requests, snapshot, fitting })
    },
    score: (pod, snapshot) => strategy(pod, snapshot),
  }
}

/** Pods of one Deployment have equal requests: nodes that have not changed since the last pod fit as they did. */
function remembered(
  { filter }: FilterState,
  { requests, snapshot, fitting }: RememberedOptions,
): FilterState {
  const key = `${requests.cpu} ${requests.memory} ${requests.ephemeralStorage}`
  const known = fitting.get(key)
  const values = known ?? new NodeValues(info => (filter(info) === undefined ? 1 : 0))
  if (known === undefined) fitting.set(key, values)
  const fits = values.at(snapshot)
  return { filter: info => (fits(info) === 1 ? undefined : filter(info)) }
}

interface RememberedOptions {
  readonly requests: ResourceAmounts
  readonly snapshot: Snapshot
  /** By the requests: 1 for nodes with enough of everything. */
  readonly fitting: LruMap<string, NodeValues>
}

/** Maximum number of different requests whose results are cached; the least recently used are evicted. */
const requestsMax = 64

function ignored({
  ignoredResources,
  ignoredResourceGroups,
}: NodeResourcesFitArgs): (resource: string) => boolean {
  const names = new Set(ignoredResources)
  const groups = new Set(ignoredResourceGroups)
  if (names.size === 0 && groups.size === 0) return () => false
  return name => isExtendedResource(name) && (names.has(name) || groups.has(name.slice(0, name.indexOf('/'))))
}

/**
 * Resources that are not checked: those ignored by configuration, and those that nodes lack but a DeviceClass
 * provides.
 */
interface Rules {
  readonly isIgnored: (resource: string) => boolean
  readonly isByDevices: (resource: string) => boolean
}

/** The informer of DeviceClasses is created on first use. */
function byDevices(handle: PluginHandle): (resource: string) => boolean {
  let classOf: DeviceClassOf | undefined
  return resource => (classOf ??= deviceClassOf(handle))(resource) !== undefined
}

function fitStateOf(asked: ResourceAmounts, { isIgnored, isByDevices }: Rules): FilterState {
  const others = [...asked.scalarResources].filter(([name, amount]) => amount > 0 && !isIgnored(name))
  const onDevices = new Set(others.map(([name]) => name).filter(isByDevices))
  const isElsewhere = (info: NodeInfo, name: string): boolean =>
    onDevices.has(name) && !info.allocatable.scalarResources.get(name)
  const test = (info: NodeInfo): Unschedulable | undefined => {
    const { allocatable, requested, pods: placed } = info
    const isFine =
      placed.length < allocatable.pods &&
      (asked.cpu === 0 || asked.cpu <= allocatable.cpu - requested.cpu) &&
      (asked.memory === 0 || asked.memory <= allocatable.memory - requested.memory) &&
      (asked.ephemeralStorage === 0 ||
        asked.ephemeralStorage <= allocatable.ephemeralStorage - requested.ephemeralStorage) &&
      others.every(([name, amount]) => amount <= left(info, name) || isElsewhere(info, name))
    if (isFine) return undefined
    return insufficient(
      info,
      asked,
      others.filter(([name]) => !isElsewhere(info, name)),
    )
  }
  return { filter: test }
}

function left({ allocatable, requested }: NodeInfo, name: string): number {
  return (allocatable.scalarResources.get(name) ?? 0) - (requested.scalarResources.get(name) ?? 0)
}

/** Reasons for the basic resources, in the order of the message. */
const basicReasons = [
  'Too many pods',
  'Insufficient cpu',
  'Insufficient memory',
  'Insufficient ephemeral-storage',
]

const unresolvable = 1 << basicReasons.length

/**
 * Shared statuses, indexed by a bit for each basic reason and one for unresolvable, to save allocations for
 * many full nodes.
 */
const basicStatuses: readonly Unschedulable[] = Array.from(
  { length: 2 ** (basicReasons.length + 1) },
  (_, bits) => {
    const reasons = basicReasons.filter((_reason, index) => bits & (1 << index))
    return statusOf(reasons, (bits & unresolvable) !== 0)
  },
)

function insufficient(
  info: NodeInfo,
  asked: ResourceAmounts,
  others: readonly (readonly [string, number])[],
): Unschedulable {
  const { allocatable: has, requested } = info
  let bits = info.pods.length + 1 > has.pods ? 1 : 0
  if (asked.cpu > 0 && asked.cpu > has.cpu - requested.cpu) {
    bits |= asked.cpu > has.cpu ? 2 | unresolvable : 2
  }
  if (asked.memory > 0 && asked.memory > has.memory - requested.memory) {
    bits |= asked.memory > has.memory ? 4 | unresolvable : 4
  }
  const storage = asked.ephemeralStorage
  if (storage > 0 && storage > has.ephemeralStorage - requested.ephemeralStorage) {
    bits |= storage > has.ephemeralStorage ? 8 | unresolvable : 8
  }
  const basic = basicStatuses[bits]!
  const lacking = others.length === 0 ? others : others.filter(([name, amount]) => amount > left(info, name))
  if (lacking.length === 0) return basic
  const isUnresolvable =
    basic.isUnresolvable || lacking.some(([name, amount]) => amount > (has.scalarResources.get(name) ?? 0))
  const reasons = bits === 0 ? [] : [basic.reason, ...(basic.more ?? [])]
  return statusOf([...reasons, ...lacking.map(([name]) => `Insufficient ${name}`)], isUnresolvable)
}

function statusOf([reason = '', ...more]: readonly string[], isUnresolvable: boolean): Unschedulable {
  return { reason, isUnresolvable, ...(more.length > 0 && { more }) }
}

/**
 * True if a pod was removed, or now requests less of a resource that the pending pod needs, or if the pending
 * pod itself changed.
 */
function freesSomething(
  waiting: Stored<Pod>,
  before: Stored<Pod> | undefined,
  after: Stored<Pod> | undefined,
): boolean {
  if (before === undefined || after === undefined) return true
  if (after.metadata.uid === waiting.metadata.uid) return true
  const [was, is] = [podInfoOf(before).requests, podInfoOf(after).requests]
  return askedBy(waiting).some(name => amountOf(is, name) < amountOf(was, name))
}

/** True if the node's pod limit or a requested resource has increased. */
function givesMore(pod: Stored<Pod>, before: Stored<Node>, after: Stored<Node> | undefined): boolean {
  if (after === undefined) return false
  const [was, is] = [nodeInfoOf(before, []).allocatable, nodeInfoOf(after, []).allocatable]
  return is.pods > was.pods || askedBy(pod).some(name => amountOf(is, name) > amountOf(was, name))
}

function askedBy(pod: Stored<Pod>): readonly string[] {
  const { requests } = podInfoOf(pod)
  return [...basicResources, ...requests.scalarResources.keys()].filter(name => amountOf(requests, name) > 0)
}

const basicResources = ['cpu', 'memory', 'ephemeral-storage']

function hasEnough(pod: Stored<Pod>, node: Stored<Node> | undefined, rules: Rules): boolean {
  return (
    node !== undefined &&
    fitStateOf(podInfoOf(pod).requests, rules).filter(nodeInfoOf(node, [])) === undefined
  )
}
