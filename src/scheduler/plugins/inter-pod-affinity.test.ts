import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { labelOf } from '#/api/labels.ts'
import type { SchedulerCache } from '../scheduler-cache.ts'
import type { FilterState, Unschedulable } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { podInfoOf, type AffinityTerm, type PodInfo } from '../pod-info.ts'
import { profileOf, type ProfileFactory } from '../profile.ts'
import { nodeOf, podOf, startTestCluster } from '../test-cluster.ts'
import { defaultBinder } from './default-binder.ts'
import { interPodAffinity } from './inter-pod-affinity.ts'
import { prioritySort } from './priority-sort.ts'
import {
  byName,
  cacheOf,
  filterResults,
  parseNode,
  parsePod,
  queueingHintOf,
  startPluginWorld,
} from './test-world.ts'

const world = await startPluginWorld()
const plugin = interPodAffinity(world.handle, {})
await world.create(namespaces, { metadata: { name: 'test', labels: { env: 'test' } } })
await world.create(namespaces, { metadata: { name: 'live', labels: { env: 'live' } } })

function textOf(status: Unschedulable | undefined): string {
  const texts: Readonly<Record<string, string>> = {
    "node(s) didn't match pod affinity rules": 'near',
    "node(s) didn't match pod anti-affinity rules": 'far',
    "node(s) didn't satisfy existing pods anti-affinity rules": 'existing',
  }
  if (status === undefined) return 'ok'
  assert.equal(status.isUnresolvable ?? false, status.reason === "node(s) didn't match pod affinity rules")
  return texts[status.reason] ?? status.reason
}

const answersOf = (state: FilterState | Unschedulable | undefined, nodes: readonly NodeInfo[]): string =>
  filterResults(state, nodes, textOf)

function check(lines: readonly string[], pod: string, expected: string): void {
  const snapshot = cacheOf(lines).snapshot()
  const info = podInfoOf(parsePod('new', pod))
  assert.equal(answersOf(plugin.preFilter?.(info, snapshot), snapshot.nodes), expected, pod)
}

test('required affinity: nodes in the domain of a matching pod are feasible', () => {
  const nodes = ['n1 zone=a: app=db', 'n2 zone=a', 'n3 zone=b: app=web', 'n4']
  check(nodes, 'app=web [near zone app=db]', 'n1 ok, n2 ok, n3 near, n4 near')
  check(nodes, 'app=web [near host app=db]', 'n1 ok, n2 near, n3 near, n4 near')
  check(nodes, 'app=web [near zone app=cache]', 'n1 near, n2 near, n3 near, n4 near')
  check(nodes, 'app=web', 'nothing to say')
  // An absent selector selects no pods, an empty one selects all.
  check(nodes, 'app=web [near zone -]', 'n1 near, n2 near, n3 near, n4 near')
  check(nodes, 'app=web [near zone *]', 'n1 ok, n2 ok, n3 ok, n4 near')
})

test('required affinity: one pod must match all terms', () => {
  const nodes = ['n1 zone=a: app=db,tier=x', 'n2 zone=b: app=db; tier=x', 'n3 zone=b']
  check(nodes, 'a=b [near zone app=db & near zone tier=x]', 'n1 ok, n2 near, n3 near')
  check(nodes, 'a=b [near zone app=db & near host tier=x]', 'n1 ok, n2 near, n3 near')
})

test('required affinity: the first pod that matches its own terms fits any node with the topology key', () => {
  check(['n1 zone=a', 'n2'], 'app=web [near zone app=web]', 'n1 ok, n2 near')
  check(['n1 zone=a', 'n2 zone=b: app=web'], 'app=web [near zone app=web]', 'n1 near, n2 ok')
  check(['n1 zone=a', 'n2'], 'app=web [near zone app=web & near zone app=db]', 'n1 near, n2 near')
  // A pod on a node without the label is in no domain.
  check(['n1 zone=a', 'n2: app=web'], 'app=web [near zone app=web]', 'n1 ok, n2 near')
  check(['n1 zone=a'], 'app=web [near zone app=web@test]', 'n1 near')
})

test('required anti-affinity: domains of matching pods are infeasible', () => {
  const nodes = ['n1 zone=a: app=db', 'n2 zone=a', 'n3 zone=b: app=web', 'n4']
  check(nodes, 'app=web [far zone app=db]', 'n1 far, n2 far, n3 ok, n4 ok')
  check(nodes, 'app=web [far host app=db]', 'n1 far, n2 ok, n3 ok, n4 ok')
  check(nodes, 'app=web [far host app=db & far host app=web]', 'n1 far, n2 ok, n3 far, n4 ok')
  check(nodes, 'app=web [near zone app=db & far host app=db]', 'n1 far, n2 ok, n3 near, n4 near')
})

test('required anti-affinity of existing pods excludes their domains', () => {
  const nodes = ['n1 zone=a: app=db [far zone app=web]', 'n2 zone=a', 'n3 zone=b', 'n4']
  check(nodes, 'app=web', 'n1 existing, n2 existing, n3 ok, n4 ok')
  check(nodes, 'app=db', 'nothing to say')
  check(['n1: app=db [far zone app=web]', 'n2'], 'app=web', 'nothing to say')
  check(['n1: x=y [far host app=db]', 'n2: x=y [far host *]'], 'app=db', 'n1 existing, n2 existing')
})

test('affinity terms select namespaces by name, by label or all', () => {
  const nodes = ['n1: default/app=db', 'n2: test/app=db', 'n3: live/app=db']
  check(nodes, 'a=b [far host app=db]', 'n1 far, n2 ok, n3 ok')
  check(nodes, 'a=b [far host app=db@test,live]', 'n1 ok, n2 far, n3 far')
  check(nodes, 'a=b [far host app=db@env=test]', 'n1 ok, n2 far, n3 ok')
  check(nodes, 'a=b [far host app=db@*]', 'n1 far, n2 far, n3 far')
  check(nodes, 'test/a=b [near host app=db]', 'n1 near, n2 ok, n3 near')
  const existing = [
    'n1: a=b [far host app=db]',
    'n2: a=b [far host app=db@env=test]',
    'n3: live/a=b [far host app=db@*]',
  ]
  check(existing, 'default/app=db', 'n1 existing, n2 ok, n3 existing')
  check(existing, 'test/app=db', 'n1 ok, n2 existing, n3 existing')
  check(existing, 'nowhere/app=db', 'n1 ok, n2 ok, n3 existing')
})

test('affinity terms use the current namespace labels', async () => {
  await world.create(namespaces, { metadata: { name: 'moving', labels: { env: 'a' } } })
  const nodes = ['n1: moving/app=db', 'n2']
  check(nodes, 'x=y [far host app=db@env=b]', 'n1 ok, n2 ok')
  await world.change(namespaces, 'moving', object => ({
    ...object,
    metadata: { ...object.metadata, labels: { env: 'b' } },
  }))
  check(nodes, 'x=y [far host app=db@env=b]', 'n1 far, n2 ok')
})

function checkScores(
  lines: readonly string[],
  pod: string,
  expected: string,
  args: Readonly<Record<string, unknown>> = {},
): void {
  const snapshot = cacheOf(lines).snapshot()
  const made = interPodAffinity(world.handle, args)
  const nodes = byName(snapshot.nodes)
  const state = made.score?.(podInfoOf(parsePod('new', pod)), snapshot, nodes)
  if (state === undefined) return assert.equal('nothing to say', expected, pod)
  const raw = Float64Array.from(nodes, node => state.score(node))
  const scores = raw.slice()
  state.normalizeScore?.(scores)
  assert.equal(`${raw.join(' ')} > ${scores.join(' ')}`, expected, pod)
}

test('preferred affinity and anti-affinity change the scores', () => {
  const nodes = ['n1 zone=a: app=db; app=db', 'n2 zone=a', 'n3 zone=b: app=web', 'n4']
  checkScores(nodes, 'a=b [+5 zone app=db]', '10 10 0 0 > 100 100 0 0')
  checkScores(nodes, 'a=b [-5 zone app=db]', '-10 -10 0 0 > 0 0 100 100')
  checkScores(nodes, 'a=b [+5 zone app=db & -1 host app=web]', '10 10 -1 0 > 100 100 0 9')
  checkScores(nodes, 'a=b [+5 zone app=db & +3 zone app=web]', '10 10 3 0 > 100 100 30 0')
  checkScores(nodes, 'a=b [+5 zone app=cache]', '0 0 0 0 > 0 0 0 0')
  checkScores(nodes, 'a=b', 'nothing to say')
  checkScores(nodes, 'test/a=b [+5 zone app=db@default]', '10 10 0 0 > 100 100 0 0')
})

test('affinity of existing pods changes the scores', () => {
  const nodes = [
    'n1 zone=a: a=b [+5 zone app=db]',
    'n2 zone=b: a=b [-5 host app=db]',
    'n3 zone=b: a=b [near zone app=db]',
  ]
  checkScores(nodes, 'app=db', '5 -4 1 > 100 0 55')
  checkScores(nodes, 'app=web', 'nothing to say')
  checkScores(nodes, 'app=db [+7 host a=b]', '12 3 8 > 100 0 55')
  checkScores(nodes, 'app=db', '5 5 10 > 0 0 100', { hardPodAffinityWeight: 10 })
  checkScores(nodes, 'app=db', '5 -5 0 > 100 0 50', { hardPodAffinityWeight: 0 })
  checkScores(nodes, 'app=db', 'nothing to say', { ignorePreferredTermsOfExistingPods: true })
  checkScores(nodes, 'app=db [+7 host a=b]', '12 3 8 > 100 0 55', {
    ignorePreferredTermsOfExistingPods: true,
  })
  checkScores(['n1: a=b [+5 host app=db]; a=b [-5 host app=db]'], 'app=db', '0 > 0')
})

test('hardPodAffinityWeight is validated', () => {
  for (const hardPodAffinityWeight of [-1, 101]) {
    assert.throws(() => interPodAffinity(world.handle, { hardPodAffinityWeight }), {
      message: `hardPodAffinityWeight: Invalid value: ${hardPodAffinityWeight}: not in valid range [0, 100]`,
    })
  }
})

function checkHelp(pod: string, change: string, expected: boolean): void {
  assert.equal(queueingHintOf(plugin, parsePod('new', pod), change), expected, `${pod}: ${change}`)
}

test('InterPodAffinity: queueing hints of pod and node events', () => {
  checkHelp('a=b [near zone app=db]', 'none -> app=db', true)
  checkHelp('a=b [near zone app=db]', 'none -> app=web', false)
  checkHelp('a=b [near zone app=db]', 'none -> test/app=db', false)
  checkHelp('a=b [near zone app=db@env=test]', 'none -> test/app=db', true)
  checkHelp('a=b [near zone app=db & near zone x=y]', 'none -> app=db', false)
  checkHelp('a=b [near zone app=db]', 'app=web -> app=db', true)
  checkHelp('a=b [near zone app=db]', 'app=db -> app=web', false)
  checkHelp('a=b [near zone app=db]', 'app=db -> gone', false)
  checkHelp('a=b [far zone app=db & far zone app=web]', 'app=db -> gone', true)
  checkHelp('a=b [far zone app=db]', 'app=db -> app=web', true)
  checkHelp('a=b [far zone app=db]', 'app=db -> app=db,x=y', false)
  checkHelp('a=b [far zone app=db]', 'none -> app=db', false)
  checkHelp('app=web', 'app=db [far zone app=web] -> gone', true)
  checkHelp('app=web', 'app=db [far zone app=x] -> gone', false)
  checkHelp('a=b [near zone app=db]', 'none -> node1 zone=a', true)
  checkHelp('a=b [near zone app=db]', 'none -> node1', false)
  checkHelp('a=b [near zone app=db]', 'node1 zone=a -> node1 zone=b', true)
  checkHelp('a=b [near zone app=db]', 'node1 zone=a -> node1 zone=a,x=y', false)
  checkHelp('a=b [near zone app=db]', 'node1 zone=a -> node1', false)
  checkHelp('a=b [far zone app=db]', 'none -> node1', true)
  checkHelp('a=b [far zone app=db]', 'node1 zone=a -> node1', true)
  checkHelp('a=b [far zone app=db]', 'node1 -> node1 zone=a', false)
})

function isMeant({ namespaceSelector, namespaces, selector }: AffinityTerm, pod: PodInfo): boolean {
  return (namespaceSelector?.isEmpty || namespaces.has(pod.namespace)) && selector.matches(pod.labels)
}

function areTogether(key: string, left: NodeInfo, right: NodeInfo): boolean {
  return labelOf(left.labels, key) !== undefined && labelOf(left.labels, key) === labelOf(right.labels, key)
}

/** Reference implementation: checks each pod on each node. */
function statusByDefinition(pod: PodInfo, node: NodeInfo, nodes: readonly NodeInfo[]): string {
  const all = nodes.flatMap(place => place.pods.map(each => ({ place, each })))
  const isIn = ({ topologyKey }: AffinityTerm, place: NodeInfo): boolean =>
    areTogether(topologyKey, place, node)
  const near = pod.requiredAffinity
  const wanted = all.filter(({ each }) => near.every(term => isMeant(term, each)))
  const isFound = near.every(term => wanted.some(({ place }) => isIn(term, place)))
  const isFirst =
    near.every(term => isMeant(term, pod) && isIn(term, node)) &&
    !wanted.some(({ place }) => near.some(({ topologyKey }) => areTogether(topologyKey, place, place)))
  if (!isFound && !isFirst) return 'near'
  const isHated = pod.requiredAntiAffinity.some(term =>
    all.some(({ place, each }) => isMeant(term, each) && isIn(term, place)),
  )
  if (isHated) return 'far'
  const isHating = all.some(({ place, each }) =>
    each.requiredAntiAffinity.some(term => isMeant(term, pod) && isIn(term, place)),
  )
  return isHating ? 'existing' : 'ok'
}

function scoreByDefinition(pod: PodInfo, node: NodeInfo, nodes: readonly NodeInfo[]): number {
  const wishes = ({ preferredAffinity, preferredAntiAffinity }: PodInfo) => [
    ...preferredAffinity,
    ...preferredAntiAffinity.map(({ term, weight }) => ({ term, weight: -weight })),
  ]
  let sum = 0
  for (const place of nodes) {
    for (const each of place.pods) {
      const required = each.requiredAffinity.map(term => ({ term, weight: 1 }))
      const about = [
        ...wishes(pod).filter(({ term }) => isMeant(term, each)),
        ...[...wishes(each), ...required].filter(({ term }) => isMeant(term, pod)),
      ]
      for (const { term, weight } of about) if (areTogether(term.topologyKey, place, node)) sum += weight
    }
  }
  return sum
}

const wants = fc.constantFrom(
  '',
  ' [near zone app=a]',
  ' [near host app=a & near zone app=a]',
  ' [far host app=a]',
  ' [far zone app=b]',
  ' [far host app=b@* & near zone *]',
  ' [+5 zone app=a & -3 host app=b]',
  ' [-2 zone app=a@* & near zone app=a]',
)
const podText = fc.tuple(fc.constantFrom('', 'test/'), fc.constantFrom('app=a', 'app=b', 'app=a,x=y'), wants)
const zone = fc.constantFrom('', ' zone=1', ' zone=2', ' zone=3')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ pod: podText, on: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ node: fc.nat(5), zone }) },
  { weight: 1, arbitrary: fc.record({ lost: fc.nat(5) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

function take(cache: SchedulerCache, each: Step, name: string): void {
  if ('pod' in each) cache.assume(podInfoOf(parsePod(name, each.pod.join(''))), `n${each.on}`)
  else if ('gone' in each) cache.removePod(parsePod(`p${each.gone}`, ''))
  else if ('node' in each) cache.setNode(parseNode(`n${each.node}${each.zone}`))
  else cache.removeNode(`n${each.lost}`)
}

test('property: incremental counts equal those by definition', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 25 }), podText, (steps, text) => {
      const cache = cacheOf(['n0 zone=1', 'n1 zone=1', 'n2 zone=2', 'n3', 'n4 zone=3'])
      const pod = podInfoOf(parsePod('new', text.join('')))
      for (const [index, each] of steps.entries()) {
        take(cache, each, `p${index}`)
        const { nodes } = cache.snapshot()
        const state = plugin.preFilter?.(pod, cache.snapshot())
        const expected = byName(nodes).map(node => `${node.name} ${statusByDefinition(pod, node, nodes)}`)
        const isQuiet = state === undefined && expected.every(answer => answer.endsWith(' ok'))
        if (!isQuiet) assert.equal(answersOf(state, nodes), expected.join(', '))
        const scores = plugin.score?.(pod, cache.snapshot(), nodes)
        for (const node of nodes) {
          assert.equal(scores?.score(node) ?? 0, scoreByDefinition(pod, node, nodes))
        }
      }
    }),
    { numRuns: 60 },
  )
})

test('counts are right after many nodes were added and removed', () => {
  const cache = cacheOf(['a0: app=b [far host app=a]', 'b zone=1: app=a'])
  const pod = podInfoOf(parsePod('new', 'app=a [far host app=a]'))
  for (let round = 0; round < 1_500; round++) {
    const { nodes } = cache.snapshot()
    const expected = `a${round} existing, b far`
    assert.equal(answersOf(plugin.preFilter?.(pod, cache.snapshot()), nodes), expected)
    cache.removeNode(`a${round}`)
    cache.setNode(parseNode(`a${round + 1}`))
    cache.assume(podInfoOf(parsePod(`hater${round}`, 'app=b [far host app=a]')), `a${round + 1}`)
  }
})

test('property: addPod and removePod equal a new filter state', () => {
  const placed = fc.array(fc.tuple(podText, fc.nat(4)), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(placed, podText, (pods, text) => {
      const lines = ['n0 zone=1', 'n1 zone=1', 'n2 zone=2', 'n3', 'n4 zone=3']
      const [cache, other] = [cacheOf(lines), cacheOf(lines)]
      const moved = pods.map(([each, on], index) => ({
        info: podInfoOf(parsePod(`p${index}`, each.join(''))),
        node: `n${on}`,
      }))
      for (const { info, node } of moved.slice(1)) cache.assume(info, node)
      for (const { info, node } of moved) other.assume(info, node)
      const { info, node } = moved[0]!
      const pod = podInfoOf(parsePod('new', text.join('')))
      const [without, beside] = [cache.snapshot(), other.snapshot()]
      const [state, stateBeside] = [plugin.preFilter?.(pod, without), plugin.preFilter?.(pod, beside)]
      if (state === undefined || stateBeside === undefined) return
      assert.ok('filter' in state && 'filter' in stateBeside)
      const tried = state.addPod?.(info, beside.get(node)!)
      assert.equal(answersOf(tried, without.nodes), answersOf(stateBeside, beside.nodes))
      const undone = stateBeside.removePod?.(info, without.get(node)!)
      assert.equal(answersOf(undone, beside.nodes), answersOf(state, without.nodes))
      assert.equal(
        answersOf(tried?.removePod?.(info, without.get(node)!), without.nodes),
        answersOf(state, without.nodes),
      )
    }),
    { numRuns: 200 },
  )
})

test('pods with anti-affinity get one node each, and the last is unschedulable', async t => {
  const profiles: ProfileFactory = handle => {
    const plugins = [prioritySort, interPodAffinity, defaultBinder].map(make => ({
      plugin: make(handle, {}),
      weight: 1,
    }))
    return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
  }
  const cluster = await startTestCluster(t, { profiles })
  await cluster.addNodes(nodeOf('n1'), nodeOf('n2'))
  const { spec } = parsePod('web', 'app=web [far host app=web]')
  const podCalled = (name: string): Pod => podOf(name, { labels: { app: 'web' }, affinity: spec!.affinity! })
  await cluster.addPods(podCalled('a'), podCalled('b'), podCalled('c'))
  const { c, ...others } = await cluster.places()
  assert.deepEqual([Object.values(others).toSorted(), c], [['n1', 'n2'], ''])
  const { status } = await cluster.getPod('c')
  assert.equal(
    status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message,
    "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",
  )
  await cluster.deletePod('a')
  await cluster.advance(10_000)
  assert.deepEqual(Object.values(await cluster.places()).toSorted(), ['n1', 'n2'])
})
