import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Random } from '#/platform/platform.ts'
import { SchedulerCache } from './scheduler-cache.ts'
import type { FilterState, Plugin, PluginHandle, Unschedulable } from './framework.ts'
import {
  prioritizeNodes,
  numFeasibleNodesToFind,
  filterNodes,
  evaluateNominatedNode,
  runPreFilterPlugins,
  type FilterResult,
  type SchedulingCycle,
} from './schedule-pod.ts'
import { podInfoOf, type PodInfo } from './pod-info.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit.ts'
import { prioritySort } from './plugins/priority-sort.ts'
import { profileOf, type Profile } from './profile.ts'
import { diagnosisMessage } from './fit-error.ts'
import type { Snapshot } from './snapshot.ts'
import { nodeOf, podOf, stored, type PodParts } from './test-cluster.ts'

const handle = {} as PluginHandle

/** A score plugin; without any, filtering stops at the first feasible node. */
const indifferent: Plugin = { name: 'Indifferent', score: () => undefined }

function profile(
  plugins: readonly (Plugin & { readonly weight?: number })[],
  percentageOfNodesToScore = 0,
): Profile {
  const all = [prioritySort(handle, {}), indifferent, ...plugins]
  return profileOf({
    schedulerName: 'default-scheduler',
    plugins: all.map(plugin => ({ plugin, weight: (plugin as { weight?: number }).weight ?? 1 })),
    percentageOfNodesToScore,
  })
}

/** Nodes n0, n1... with four CPUs each. */
function snapshotOf(count: number): Snapshot {
  const cache = new SchedulerCache()
  for (let index = 0; index < count; index++) cache.setNode(stored(nodeOf(`n${index}`)))
  return cache.snapshot()
}

function pod(name: string, parts: PodParts = {}): PodInfo {
  return podInfoOf(stored(podOf(name, { uid: name, ...parts })))
}

/** A random source with the given results. */
function drawing(...numbers: readonly number[]): Random & { readonly bounds: number[] } {
  const bounds: number[] = []
  const integer = (_label: string, below: number): number => {
    bounds.push(below)
    return numbers[bounds.length - 1] ?? 0
  }
  return { bounds, integer } as unknown as Random & { readonly bounds: number[] }
}

function worldOf(parts: Partial<SchedulingCycle> & { readonly profile: Profile }): SchedulingCycle {
  return {
    pod: pod('web'),
    snapshot: snapshotOf(3),
    nominated: () => [],
    startAt: 0,
    random: drawing(),
    cycleState: {},
    ...parts,
  }
}

/** Rejects the named nodes. */
function rejecting(name: string, nodes: readonly string[], status: Unschedulable = { reason: name }): Plugin {
  return { name, preFilter: () => ({ filter: node => (nodes.includes(node.name) ? status : undefined) }) }
}

function onlyOn(name: string, nodes: readonly string[]): Plugin {
  return { name, preFilter: () => ({ preFilterResult: new Set(nodes), filter: () => undefined }) }
}

function scoring(name: string, scores: readonly number[], weight = 1): Plugin & { readonly weight: number } {
  return {
    name,
    weight,
    score: () => ({ score: node => scores[Number(node.name.slice(1))] ?? 0 }),
  }
}

const namesOf = ({ feasible }: Pick<FilterResult, 'feasible'>): string =>
  feasible.map(({ name }) => name).join(' ')

test('a node is feasible if no plugin rejects it; the status names the first plugin that does', () => {
  const world = worldOf({ profile: profile([rejecting('A', ['n0']), rejecting('B', ['n0', 'n2'])]) })
  const filtered = filterNodes(world)
  assert.equal(namesOf(filtered), 'n1')
  assert.deepEqual(
    [...filtered.nodeToStatus].map(([node, { plugin }]) => `${node} ${plugin}`),
    ['n0 A', 'n2 B'],
  )
  assert.equal(filtered.evaluatedNodes, 3)
})

test('preFilter: undefined skips the plugin, and a status ends the scheduling cycle', () => {
  const never: FilterState = { filter: () => assert.fail('asked') }
  const silent: Plugin = { name: 'Silent', preFilter: () => undefined }
  assert.equal(namesOf(filterNodes(worldOf({ profile: profile([silent]) }))), 'n0 n1 n2')
  const strict: Plugin = { name: 'Strict', preFilter: () => ({ reason: 'not today' }) }
  const asked: Plugin = { name: 'Asked', preFilter: () => never }
  const filtered = filterNodes(worldOf({ profile: profile([asked, strict]) }))
  assert.deepEqual(filtered.preFilterStatus, { reason: 'not today', plugin: 'Strict' })
  assert.deepEqual([...filtered.nodeToStatus.keys()], ['n0', 'n1', 'n2'])
  assert.equal(filtered.evaluatedNodes, 0)
  assert.equal(diagnosisMessage(filtered), '0/3 nodes are available: not today.')
})

test('preFilterResult restricts the nodes to consider', () => {
  const check = (plugins: readonly Plugin[], nodes: string, message?: string): void => {
    const filtered = filterNodes(worldOf({ profile: profile(plugins) }))
    assert.equal(namesOf(filtered), nodes)
    if (message !== undefined)
      assert.equal(diagnosisMessage(filtered), `0/3 nodes are available: ${message}.`)
  }
  check([onlyOn('A', ['n2', 'n1'])], 'n2 n1')
  check([onlyOn('A', ['n2', 'n1']), onlyOn('B', ['n0', 'n2'])], 'n2')
  check([onlyOn('A', ['n1', 'gone'])], 'n1')
  check([onlyOn('A', ['gone'])], '', "3 node(s) didn't satisfy plugin(s) [A]")
  check([onlyOn('A', [])], '', "node(s) didn't satisfy plugin A")
  const apart = "node(s) didn't satisfy plugin(s) [A B] simultaneously"
  check([onlyOn('B', ['n0']), onlyOn('A', ['n1'])], '', apart)
  const rejected = "1 full, 2 node(s) didn't satisfy plugin(s) [A]"
  check([onlyOn('A', ['n1']), rejecting('B', ['n1'], { reason: 'full' })], '', rejected)
  const { preFilterPlugins } = filterNodes(
    worldOf({ profile: profile([onlyOn('A', ['n1']), onlyOn('B', ['n2'])]) }),
  )
  assert.deepEqual(preFilterPlugins, ['A', 'B'])
})

test('numFeasibleNodesToFind depends on cluster size and percentageOfNodesToScore', () => {
  const check = (nodes: number, percentage: number, wanted: number): void => {
    assert.equal(numFeasibleNodesToFind(nodes, percentage), wanted, `${percentage} % of ${nodes}`)
  }
  check(0, 0, 0)
  check(99, 0, 99)
  check(99, 10, 99)
  check(100, 0, 100)
  check(150, 30, 100)
  check(1_000, 0, 420)
  check(1_000, 40, 400)
  check(5_000, 0, 500)
  check(6_000, 0, 300)
  check(20_000, 0, 1_000)
  check(6_000, 100, 6_000)
})

test('filtering starts after the last node of the previous cycle and stops at enough feasible nodes', () => {
  const snapshot = snapshotOf(200)
  const look = (startAt: number, plugins: readonly Plugin[] = []): FilterResult => {
    return filterNodes(worldOf({ snapshot, startAt, profile: profile(plugins, 10) }))
  }
  const first = look(0)
  assert.deepEqual([first.evaluatedNodes, first.feasible.length, first.feasible[0]?.name], [100, 100, 'n0'])
  const second = look(150, [rejecting('A', ['n150', 'n0'])])
  assert.deepEqual([second.evaluatedNodes, second.feasible.length], [102, 100])
  assert.deepEqual([second.feasible[0]?.name, second.feasible.at(-1)?.name], ['n151', 'n51'])
  assert.deepEqual([...second.nodeToStatus.keys()], ['n150', 'n0'])
  const narrow = look(7, [onlyOn('A', ['n4', 'n5', 'n6'])])
  assert.equal(namesOf(narrow), 'n5 n6 n4')
})

test('without score plugins filtering stops at the first feasible node', () => {
  const alone = profileOf({
    schedulerName: 'default-scheduler',
    plugins: [prioritySort(handle, {}), rejecting('A', ['n1'])].map(plugin => ({ plugin, weight: 1 })),
    percentageOfNodesToScore: 0,
  })
  assert.equal(namesOf(filterNodes(worldOf({ profile: alone, startAt: 1 }))), 'n2')
})

test('the node with the highest sum of weighted scores is selected', () => {
  const check = (
    plugins: readonly (Plugin & { weight?: number })[],
    node: string,
    random = drawing(),
  ): void => {
    const world = worldOf({ profile: profile(plugins), random })
    assert.equal(prioritizeNodes(world, world.snapshot.nodes).node, node)
  }
  check([scoring('A', [1, 3, 2])], 'n1')
  check([scoring('A', [1, 3, 2]), scoring('B', [10, 0, 9])], 'n0', drawing(0))
  check([scoring('A', [1, 3, 2], 10), scoring('B', [10, 0, 9])], 'n1')
  const halved: Plugin = {
    name: 'C',
    score: () => ({
      score: node => (node.name === 'n2' ? 100 : 0),
      normalizeScore: scores => scores.forEach((score, index) => (scores[index] = 100 - score)),
    }),
  }
  check([halved, scoring('A', [1, 2, 3])], 'n1')
  // Ties are broken at random, among the best nodes only.
  const ties = [scoring('A', [5, 1, 5])]
  check(ties, 'n0', drawing(0))
  check(ties, 'n2', drawing(1))
  const random = drawing(1)
  check(ties, 'n2', random)
  assert.deepEqual(random.bounds, [2])
  const clear = drawing()
  check([scoring('A', [1, 2, 3])], 'n2', clear)
  assert.deepEqual(clear.bounds, [])
  check([], 'n2', drawing(2))
})

test('a single feasible node is not scored', () => {
  const costly: Plugin = { name: 'Costly', score: () => assert.fail('asked') }
  const world = worldOf({ profile: profile([costly]), snapshot: snapshotOf(1) })
  assert.equal(prioritizeNodes(world, world.snapshot.nodes).node, 'n0')
})

const fit = nodeResourcesFit(handle, {})

test('nominated pods of higher or equal priority count on their node', () => {
  const check = (waiting: PodParts & { readonly uid?: string }, expected: string): void => {
    const other = pod('other', { cpu: '3', ...waiting })
    const world = worldOf({
      pod: pod('web', { cpu: '2', priority: 5 }),
      profile: profile([fit]),
      nominated: node => (node === 'n1' ? [other] : []),
    })
    assert.equal(namesOf(filterNodes(world)), expected)
  }
  check({ priority: 6 }, 'n0 n2')
  check({ priority: 5 }, 'n0 n2')
  check({ priority: 4 }, 'n0 n1 n2')
  check({ priority: 5, cpu: '2' }, 'n0 n1 n2')
  // The node is nominated for the pod itself.
  check({ priority: 5, uid: 'web' }, 'n0 n1 n2')
})

test('a node must be feasible without its nominated pods, too', () => {
  // Requires a pod of `db` on the node.
  const near = (count: number): FilterState => ({
    filter: () => (count > 0 ? undefined : { reason: 'alone' }),
    addPod: ({ labels }) => near(labels['app'] === 'db' ? count + 1 : count),
  })
  const check = (nominated: readonly PodInfo[], count: number, expected: string): void => {
    const plugin: Plugin = { name: 'Near', preFilter: () => near(count) }
    const world = worldOf({ profile: profile([plugin]), nominated: () => nominated, snapshot: snapshotOf(1) })
    assert.equal(namesOf(filterNodes(world)), expected)
  }
  check([pod('db', { labels: { app: 'db' } })], 0, '')
  check([], 1, 'n0')
  // Fails with the nominated pod present: one pod too many.
  const far: Plugin = {
    name: 'Far',
    preFilter: () => ({
      filter: () => undefined,
      addPod: () => ({ filter: () => ({ reason: 'crowded' }) }),
    }),
  }
  const world = worldOf({ profile: profile([far]), nominated: node => (node === 'n0' ? [pod('db')] : []) })
  const filtered = filterNodes(world)
  assert.equal(namesOf(filtered), 'n1 n2')
  assert.deepEqual(filtered.nodeToStatus.get('n0'), { reason: 'crowded', plugin: 'Far' })
})

test('all nominated pods of a node count together', () => {
  const waiting = [
    pod('a', { cpu: '1', priority: 9 }),
    pod('b', { cpu: '2' }),
    pod('c', { cpu: '1', priority: 9 }),
  ]
  const check = (cpu: string, expected: string): void => {
    const world = worldOf({
      pod: pod('web', { cpu, priority: 5 }),
      profile: profile([fit]),
      snapshot: snapshotOf(1),
      nominated: () => waiting,
    })
    assert.equal(namesOf(filterNodes(world)), expected)
  }
  check('2', 'n0')
  check('3', '')
})

test('the nominated node of the pod is evaluated first, and alone if it is feasible', () => {
  const check = (plugins: readonly Plugin[], nominatedNode: string | undefined, expected: string): void => {
    const world = worldOf({ profile: profile(plugins), nominatedNode })
    const filtered = evaluateNominatedNode(world, runPreFilterPlugins(world))
    assert.equal(filtered && namesOf(filtered), expected || undefined)
  }
  check([], undefined, '')
  check([], 'n1', 'n1')
  check([], 'gone', '')
  check([rejecting('A', ['n1'])], 'n1', '')
  check([rejecting('A', ['n0'])], 'n1', 'n1')
  check([onlyOn('A', ['n0'])], 'n1', '')
  check([onlyOn('A', ['n0', 'n1'])], 'n1', 'n1')
  check([{ name: 'A', preFilter: () => ({ reason: 'never' }) }], 'n1', '')
  // A pod of higher priority is nominated for it too.
  const world = worldOf({
    profile: profile([fit]),
    pod: pod('web', { cpu: '2' }),
    nominatedNode: 'n1',
    nominated: () => [pod('other', { cpu: '3', priority: 1 })],
  })
  assert.equal(evaluateNominatedNode(world, runPreFilterPlugins(world)), undefined)
})
