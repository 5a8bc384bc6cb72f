import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PodDisruptionBudget } from '#/api/generated/policy/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Stored } from '#/api/metadata.ts'
import { Simulation } from '#/platform/simulated.ts'
import { SchedulerCache } from '../../scheduler-cache.ts'
import type { PreemptionCandidate, FilterState, PluginHandle } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import { podInfoOf, type PodInfo } from '../../pod-info.ts'
import { nodeOf, podOf, stored } from '../../test-cluster.ts'
import type { Filters } from '../../filter-with-nominated-pods.ts'
import { nodeResourcesFit } from '../node-resources-fit.ts'
import { DisruptionBudgets } from './budgets.ts'
import { findCandidates, selectCandidate } from './find-candidates.ts'

const { clock } = new Simulation({ seed: 1 }).host('scheduler')
const nowMs = Date.parse('2026-01-01T12:00:00Z')

interface Case {
  /**
   * `n1=4[a1:2@5-30 b:1@3]`: a node with four CPUs. a1 requests two of them, has priority 5 and label `app:
   * a`, and started 30 minutes ago.
   */
  readonly nodes: string
  /** `2@10`: CPU request and priority of the preemptor. */
  readonly pod: string
  /** `a=1`: one pod with label `app: a` may be disrupted. */
  readonly budgets?: string
  /** Nominated pods, in the notation of pods on nodes. */
  readonly nominated?: string
  readonly wanted?: number
}

function readPods(text: string, node: string): Stored<Pod>[] {
  return [...text.matchAll(/(\w+):(\d+)@(-?\d+)(?:-(\d+))?/g)].map(
    ([, name = '', cpu, priority, minutes]) => {
      const labels = { app: name.replace(/\d+$/, '') }
      const parts = { uid: name, labels, cpu: cpu!, priority: Number(priority), nodeName: node }
      const startTime = formatTime(nowMs - Number(minutes ?? 0) * 60_000)
      return stored({ ...podOf(name, parts), status: minutes === undefined ? {} : { startTime } })
    },
  )
}

function readNodes(text: string): readonly NodeInfo[] {
  const cache = new SchedulerCache()
  for (const [, name = '', cpu = '', content = ''] of text.matchAll(/(\w+)=(\d+)\[([^\]]*)\]/g)) {
    cache.setNode(stored(nodeOf(name, { cpu })))
    for (const pod of readPods(content, name)) cache.setPod(pod)
  }
  return cache.snapshot().nodes
}

function readBudgets(text: string): PodDisruptionBudget[] {
  return [...text.matchAll(/(\w+)=(\d+)/g)].map(([, app = '', allowed]) => ({
    metadata: { namespace: 'default', name: app },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed: Number(allowed) },
  }))
}

function preemptor(text: string): PodInfo {
  const [cpu = '', priority] = text.split('@')
  return podInfoOf(stored(podOf('preemptor', { uid: 'preemptor', cpu, priority: Number(priority) })))
}

function fitOf(pod: PodInfo, nodes: readonly NodeInfo[]): Filters {
  const cache = new SchedulerCache()
  for (const { node } of nodes) cache.setNode(node)
  const state = nodeResourcesFit({} as PluginHandle, {}).preFilter!(pod, cache.snapshot()) as FilterState
  return [{ plugin: 'NodeResourcesFit', state }]
}

function search(parts: Case, filters?: Filters): ReturnType<typeof findCandidates> {
  const nodes = readNodes(parts.nodes)
  const pod = preemptor(parts.pod)
  return findCandidates({
    pod,
    filters: filters ?? fitOf(pod, nodes),
    nominated: node =>
      readPods(parts.nominated?.match(`${node}\\[([^\\]]*)\\]`)?.[1] ?? '', '').map(podInfoOf),
    budgets: new DisruptionBudgets(readBudgets(parts.budgets ?? '')),
    nodes,
    startAt: 0,
    wanted: parts.wanted ?? 100,
    nowMs,
    clock,
  })
}

function show(candidate: PreemptionCandidate | undefined): string {
  if (candidate === undefined) return 'none'
  const { node, victims, pdbViolations } = candidate
  const names = victims.map(({ pod }) => pod.metadata.name).join(' ')
  return `${node}: ${names}${pdbViolations > 0 ? ` !${pdbViolations}` : ''}`
}

async function check(parts: Case, expected: string): Promise<void> {
  const { found, nodeToStatus } = await search(parts)
  const chosen = selectCandidate(found, nowMs)
  const reasons = [...nodeToStatus].map(([node, { reason }]) => `${node}: ${reason}`)
  assert.equal(chosen === undefined ? reasons.join('; ') : show(chosen), expected)
}

test('victims are the minimal set of pods of lower priority', async () => {
  await check({ nodes: 'n=4[a:2@1 b:2@2]', pod: '2@10' }, 'n: a')
  await check({ nodes: 'n=4[a:2@2 b:2@1]', pod: '2@10' }, 'n: b')
  await check({ nodes: 'n=4[a:1@1 b:1@2 c:2@3]', pod: '2@10' }, 'n: b a')
  await check({ nodes: 'n=4[a:1@3 b:3@1]', pod: '3@10' }, 'n: b')
  // The pod that has run longer is spared.
  await check({ nodes: 'n=4[a:2@1-10 b:2@1-20]', pod: '2@10' }, 'n: a')
  await check({ nodes: 'n=4[a:2@1-20 b:2@1-10]', pod: '2@10' }, 'n: b')
  await check({ nodes: 'n=4[a:2@1 b:2@1-1]', pod: '2@10' }, 'n: a')
})

test('pods of the same or higher priority are not preempted', async () => {
  await check({ nodes: 'n=4[a:4@10]', pod: '1@10' }, 'n: No preemption victims found for incoming pod')
  await check({ nodes: 'n=4[a:4@11]', pod: '1@10' }, 'n: No preemption victims found for incoming pod')
  await check({ nodes: 'n=4[a:3@10 b:1@1]', pod: '2@10' }, 'n: Insufficient cpu')
  await check(
    { nodes: 'n=4[a:3@10 b:1@1] m=4[c:4@10]', pod: '2@10' },
    'n: Insufficient cpu; m: No preemption victims found for incoming pod',
  )
  await check({ nodes: 'n=4[a:4@-5]', pod: '1@-4' }, 'n: a')
})

test('pods with PodDisruptionBudget violations are reprieved before those of higher priority', async () => {
  await check({ nodes: 'n=4[a:2@1 b:2@2]', pod: '2@10', budgets: 'a=0' }, 'n: b')
  await check({ nodes: 'n=4[a:2@1 b:2@2]', pod: '2@10', budgets: 'a=1' }, 'n: a')
  await check({ nodes: 'n=4[a:2@1 b:2@2]', pod: '2@10', budgets: 'a=0 b=0' }, 'n: a !1')
  await check({ nodes: 'n=4[a1:2@1 a2:2@1]', pod: '4@10', budgets: 'a=1' }, 'n: a2 a1 !1')
  // Violations are counted for the final victims only.
  await check({ nodes: 'n=4[a1:1@5 a2:3@4]', pod: '3@10', budgets: 'a=1' }, 'n: a2')
  // Sparing the pod of highest priority first would require two victims, and only one disruption is allowed.
  await check({ nodes: 'n=9[a1:1@9 a2:3@8 a3:2@7 a4:2@6]', pod: '4@10', budgets: 'a=1' }, 'n: a2')
})

test('the candidate is selected by violations, priorities, number and start time of victims', async () => {
  // Fewest PodDisruptionBudget violations.
  await check({ nodes: 'n=4[a:4@1] m=4[b:4@5]', pod: '4@10', budgets: 'a=0' }, 'm: b')
  // Lowest priority of the highest-priority victim.
  await check({ nodes: 'n=4[a:4@5] m=4[b:2@4 c:2@4]', pod: '4@10' }, 'm: b c')
  // Lowest sum of priorities; with negative ones, fewer victims are still cheaper.
  await check({ nodes: 'n=4[a:2@5 b:2@4] m=4[c:2@5 d:2@3]', pod: '4@10' }, 'm: c d')
  await check({ nodes: 'n=4[a:2@-5 b:2@-5] m=4[c:4@-5]', pod: '4@10' }, 'm: c')
  // Fewest victims, which the sum implies; then the latest start of the highest-priority victims.
  await check({ nodes: 'n=4[a:4@5-20] m=4[b:4@5-10]', pod: '4@10' }, 'm: b')
  await check({ nodes: 'n=4[a:2@5-5 b:2@5-30] m=4[c:2@5-20 d:2@5-20]', pod: '4@10' }, 'm: c d')
  await check({ nodes: 'n=4[a:2@5-5 b:2@4-30] m=4[c:2@5-10 d:2@4-1]', pod: '4@10' }, 'n: a b')
  // The first candidate.
  await check({ nodes: 'n=4[a:4@5-5] m=4[b:4@5-5]', pod: '4@10' }, 'n: a')
})

test('nominated pods of higher or equal priority are not displaced', async () => {
  const nodes = 'n=4[a:2@1 b:2@2]'
  await check({ nodes, pod: '2@10', nominated: 'n[x:2@10]' }, 'n: b a')
  await check({ nodes, pod: '2@10', nominated: 'n[x:2@9]' }, 'n: a')
  await check({ nodes, pod: '3@10', nominated: 'n[x:2@10]' }, 'n: Insufficient cpu')
})

test('the search ends with enough candidates if one has no PodDisruptionBudget violation', async () => {
  const nodes = 'n=4[a:4@1] m=4[b:4@1] o=4[c:4@1]'
  const { found } = await search({ nodes, pod: '4@10', wanted: 2 })
  assert.deepEqual(found.map(show), ['n: a', 'm: b'])
  const late = await search({ nodes, pod: '4@10', wanted: 1, budgets: 'a=0 b=0' })
  assert.deepEqual(late.found.map(show), ['o: c', 'n: a !1'])
})

test('filter states are updated with removed and added pods', async () => {
  // A plugin that rejects nodes while any pod of `a` exists.
  const counting = (names: ReadonlySet<string>): FilterState => ({
    filter: () => (names.size > 0 ? { reason: 'pods of a are there' } : undefined),
    removePod: ({ uid }) => counting(names.difference(new Set([uid]))),
    addPod: ({ uid, labels }) =>
      labels['app'] === 'a' ? counting(new Set([...names, uid])) : counting(names),
  })
  const filters = (...names: string[]): Filters => [{ plugin: 'Counting', state: counting(new Set(names)) }]
  const parts = { nodes: 'n=4[a1:1@1 b:1@1 a2:1@2]', pod: '1@10' }
  assert.deepEqual((await search(parts, filters('a1', 'a2'))).found.map(show), ['n: a2 a1'])
  const elsewhere = await search(parts, filters('a1', 'a2', 'a3'))
  assert.deepEqual(
    [...elsewhere.nodeToStatus.values()],
    [{ reason: 'pods of a are there', plugin: 'Counting' }],
  )
})

test('a PodDisruptionBudget with an invalid or empty selector, or with the pod in disruptedPods, is ignored', () => {
  const [pod] = readPods('a:1@1', 'n').map(podInfoOf)
  const budgetOf = (parts: Partial<PodDisruptionBudget>): DisruptionBudgets => {
    return new DisruptionBudgets([{ metadata: { namespace: 'default', name: 'b' }, ...parts }])
  }
  const selector = { matchLabels: { app: 'a' } }
  assert.equal(budgetOf({ spec: { selector } }).allow([pod!]), false)
  assert.equal(budgetOf({ spec: {} }).allow([pod!]), true)
  assert.equal(budgetOf({ spec: { selector: {} } }).allow([pod!]), true)
  const nonsense = { matchExpressions: [{ key: 'app', operator: 'Near' }] }
  assert.equal(budgetOf({ spec: { selector: nonsense } }).allow([pod!]), true)
  const disruptedPods = { a: '2026-01-01T00:00:00Z' }
  assert.equal(budgetOf({ spec: { selector }, status: { disruptedPods } }).allow([pod!]), true)
  const elsewhere = budgetOf({ metadata: { namespace: 'other', name: 'b' }, spec: { selector } })
  assert.equal(elsewhere.allow([pod!]), true)
})

/** All subsets of the pods of a node. */
function subsets(pods: readonly PodInfo[]): PodInfo[][] {
  const [first, ...rest] = pods
  if (first === undefined) return [[]]
  return subsets(rest).flatMap(set => [set, [first, ...set]])
}

const anyPod = fc.record({
  app: fc.constantFrom('a', 'a', 'b', 'c'),
  cpu: fc.integer({ min: 1, max: 4 }),
  priority: fc.integer({ min: 0, max: 9 }),
})

const world = fc.record({
  nodes: fc.array(fc.array(anyPod, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 2 }),
  cpu: fc.integer({ min: 1, max: 6 }),
  priority: fc.integer({ min: 4, max: 9 }),
  a: fc.integer({ min: 0, max: 2 }),
  b: fc.integer({ min: 0, max: 2 }),
})

test('property: victims have lower priority, are minimal, and respect the budgets if possible', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ nodes, cpu, priority, a, b }) => {
      let count = 0
      const texts = nodes.map((pods, index) => {
        const shown = pods.map(pod => `${pod.app}${count++}:${pod.cpu}@${pod.priority}`)
        // The node is full, so the preemptor needs victims.
        return `n${index}=${pods.reduce((sum, pod) => sum + pod.cpu, 0)}[${shown.join(' ')}]`
      })
      const parts = { nodes: texts.join(' '), pod: `${cpu}@${priority}`, budgets: `a=${a} b=${b}` }
      const infos = readNodes(parts.nodes)
      const chosen = selectCandidate((await search(parts)).found, nowMs)
      const isEnough = (gone: readonly PodInfo[]): boolean => {
        return gone.reduce((sum, pod) => sum + pod.requests.cpu, 0) >= cpu * 1_000
      }
      const isAllowed = (gone: readonly PodInfo[]): boolean => {
        const ofApp = (app: string): number => gone.filter(({ labels }) => labels['app'] === app).length
        return ofApp('a') <= a && ofApp('b') <= b
      }
      const ways = infos
        .flatMap(node => subsets(node.pods.filter(pod => pod.priority < priority)))
        .filter(isEnough)
      if (chosen === undefined) return assert.equal(ways.length, 0)
      const { victims, pdbViolations } = chosen
      assert.ok(victims.every(victim => victim.priority < priority))
      assert.ok(isEnough(victims))
      for (const victim of victims) assert.ok(!isEnough(victims.filter(each => each !== victim)))
      assert.equal(isAllowed(victims), ways.some(isAllowed))
      assert.equal(pdbViolations === 0, isAllowed(victims))
    }),
    { numRuns: 600 },
  )
})
