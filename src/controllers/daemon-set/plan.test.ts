import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { DaemonSet, DaemonSetSpec } from '#/api/generated/apps/v1.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { daemonPod, targetNode } from './daemon-pod.ts'
import { planDaemons, planStatus } from './plan.ts'
import { daemonNodesOf } from './world.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.UTC(2026, 0, 1)

function setOf(spec: Partial<DaemonSetSpec>): Stored<DaemonSet> {
  return stored({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { namespace: 'default', name: 'log', uid: 'set' },
    spec: { selector: { matchLabels: { app: 'log' } }, template: {}, ...spec },
  })
}

function rolling(rollingUpdate: object): Partial<DaemonSetSpec> {
  return { updateStrategy: { type: 'RollingUpdate', rollingUpdate } }
}

/** `a` is eligible, `b!` may only keep its pods, `c!!` may have none, `d?` does not exist. */
function nodeOf(text: string): readonly Stored<Node>[] {
  const name = text[0]!
  if (text.includes('?')) return []
  const effect = text.includes('!!') ? 'NoExecute' : 'NoSchedule'
  return [stored({ metadata: { name }, spec: text.includes('!') ? { taints: [{ key: 'x', effect }] } : {} })]
}

/**
 * Pod states as in the StatefulSet tests: `P`, `N`, `R`, `Y` just ready, `T`, `F` and `S`; `'` marks the old
 * revision.
 */
function podOf(set: Stored<DaemonSet>, nodeName: string, state: string, index: number): Stored<Pod> {
  const [letter = '', old] = state
  const made = daemonPod(set, nodeName, old ? 'old' : 'new')
  const phases: Readonly<Record<string, string>> = { P: 'Pending', F: 'Failed', S: 'Succeeded' }
  const status = 'RYT'.includes(letter) ? 'True' : 'False'
  const lastTransitionTime = formatTime(nowMs - (letter === 'Y' ? 1_000 : 100_000))
  return stored({
    ...made,
    metadata: {
      ...made.metadata,
      name: `${nodeName}${index}`,
      creationTimestamp: formatTime(nowMs - 1_000_000 + index),
      ...(letter === 'T' && { deletionTimestamp: 'now' }),
    },
    spec: { ...made.spec!, ...(letter !== 'P' && { nodeName }) },
    status: {
      phase: phases[letter] ?? 'Running',
      conditions: [{ type: 'Ready', status, lastTransitionTime }],
    },
  })
}

/** `a:R',N b! c:`: nodes with their pods, oldest first. */
function worldOf(set: Stored<DaemonSet>, text: string): Parameters<typeof planStatus>[0] {
  const parts = text.split(' ').map(each => each.split(':'))
  const nodes = parts.flatMap(([node = '']) => nodeOf(node))
  const pods = parts.flatMap(([node = '', states = '']) => {
    return states.split(',').flatMap((state, index) => (state ? podOf(set, node[0]!, state, index) : []))
  })
  return { set, hash: 'new', daemonNodes: daemonNodesOf(set, nodes, pods), nowMs, collisionCount: 0 }
}

/** `+a` creates a pod for the node, `-a0` deletes the first pod on it. */
function planned(spec: Partial<DaemonSetSpec>, text: string, waitMs = 0): string {
  const plan = planDaemons({ ...worldOf(setOf(spec), text), backoffMsOn: () => waitMs })
  return [...plan.create.map(node => `+${node}`), ...plan.delete.map(pod => `-${pod.metadata.name}`)].join(
    ' ',
  )
}

function check(spec: Partial<DaemonSetSpec>, cases: Readonly<Record<string, string>>): void {
  for (const [text, expected] of Object.entries(cases)) assert.equal(planned(spec, text), expected, text)
}

test('each eligible node has one daemon pod, others have none', () => {
  check(
    { updateStrategy: { type: 'OnDelete' } },
    {
      'a b': '+a +b',
      'a:P b:R': '',
      'a! b!:R c!!:R': '-c0',
      'a:T': '',
      'a:R,R,N': '-a1 -a2',
      'a:P,R': '-a0',
      'a:F b:S c': '+c -a0 -b0',
      'a?:P b?:R': '-a0',
      "a:R'": '',
    },
  )
})

test('a failed daemon pod is replaced after its backoff', () => {
  const spec = { updateStrategy: { type: 'OnDelete' } }
  assert.equal(planned(spec, 'a:F b:S', 1_000), '-b0')
  const plan = planDaemons({
    ...worldOf(setOf(spec), 'a:F b:F'),
    backoffMsOn: node => (node === 'a' ? 7 : 5),
  })
  assert.equal(plan.requeueAfterMs, 5)
  assert.equal(planned(rolling({ maxSurge: 1 }), 'a:F', 1_000), '')
})

test('without surge, up to maxUnavailable old pods are deleted first', () => {
  check(rolling({ maxUnavailable: 1 }), {
    "a:R' b:R' c:R'": '-a0',
    "a:T' b:R' c:R'": '',
    "a:N b:R' c:R'": '',
    "a:R b:R' c:R'": '-b0',
    "a:R b:N' c:R'": '-b0',
    "a:N' b:N' c:R'": '-a0 -b0',
    "a b:R'": '+a',
    "a!:R' b:R": '-a0',
  })
  check(rolling({ maxUnavailable: '50%' }), { "a:R' b:R' c:R'": '-a0 -b0', "a:N b:R' c:R'": '-b0' })
  check({ minReadySeconds: 10, ...rolling({ maxUnavailable: 1 }) }, { "a:Y b:R'": '', "a:R b:R'": '-b0' })
  check(rolling({ maxUnavailable: 0 }), { "a:R' b:R'": '-a0' })
})

test('with surge, up to maxSurge new pods are created beside old ones', () => {
  check(rolling({ maxSurge: 1, maxUnavailable: 0 }), {
    "a:R' b:R'": '+a',
    "a:R',P b:R'": '',
    "a:R',N b:R'": '',
    "a:R',R b:R'": '-a0',
    "a:N',N b:R'": '-a0',
    "a:N' b:R'": '+a +b',
    "a:R',N,N b:R'": '-a2',
    "a:T' b:R'": '+a',
    "a!:R' b:R": '-a0',
    "a!:R' b:N": '',
    "a!:N' b:N": '-a0',
  })
  check(
    { minReadySeconds: 10, ...rolling({ maxSurge: '100%' }) },
    { "a:R',Y b:R'": '+b', "a:R',R b:R'": '-a0' },
  )
})

test('the DaemonSet status counts nodes', () => {
  const counts = (text: string): unknown => {
    const { observedGeneration: _, ...status } = planStatus(worldOf(setOf({ minReadySeconds: 10 }), text))
    return Object.entries(status)
      .map(([name, count]) => `${name} ${count as number}`)
      .join(', ')
  }
  const none = 'currentNumberScheduled 0, numberMisscheduled 0, desiredNumberScheduled 0, numberReady 0'
  assert.equal(counts('a!'), none)
  assert.equal(
    counts("a:R b:Y c:N' d e!:R f!!:R g?:R"),
    'currentNumberScheduled 3, numberMisscheduled 2, desiredNumberScheduled 4, numberReady 2, ' +
      'updatedNumberScheduled 2, numberAvailable 1, numberUnavailable 3',
  )
})

test('a DaemonSet update stays within its limits and completes', () => {
  const bounds = fc.constantFrom<{ maxUnavailable?: number; maxSurge?: number }>(
    { maxUnavailable: 1 },
    { maxUnavailable: 2 },
    { maxSurge: 1 },
    { maxSurge: 2 },
  )
  const states = fc.array(fc.constantFrom("R'", "N'", 'R', 'N', 'P'), { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(bounds, states, fc.infiniteStream(fc.boolean()), (bound, first, chance) => {
      const set = setOf(rolling(bound))
      const names = first.map((_, index) => 'abcde'[index]!)
      let pods = first.map((state, index) => podOf(set, names[index]!, state, 0))
      const nodes = names.map(name => stored({ metadata: { name } }))
      const working = (): number => new Set(pods.filter(isReady).map(targetNode)).size
      for (let made = 1; ; made++) {
        assert.ok(made < 100, 'it never ends')
        const world = { set, hash: 'new', daemonNodes: daemonNodesOf(set, nodes, pods), nowMs }
        const plan = planDaemons({ ...world, backoffMsOn: () => 0 })
        const before = working()
        const gone = new Set(plan.delete)
        pods = pods.filter(pod => !gone.has(pod))
        const floor = names.length - (bound.maxUnavailable ?? 0)
        assert.ok(working() >= Math.min(before, floor))
        pods.push(...plan.create.map(name => podOf(set, name, 'N', made)))
        const doubled = names.filter(
          name => pods.filter(pod => targetNode(pod) === name && isReady(pod)).length > 1,
        )
        assert.ok(doubled.length <= (bound.maxSurge ?? 0))
        if (plan.create.length + plan.delete.length === 0 && pods.every(isReady)) break
        pods = pods.map(pod => (isNew(pod) && !isReady(pod) && chance.next().value ? readied(set, pod) : pod))
      }
      assert.deepEqual(new Set(pods.map(targetNode)), new Set(names))
      assert.equal(pods.length, names.length)
      assert.ok(pods.every(isNew))
    }),
    { numRuns: 200 },
  )
})

function isNew(pod: Pod): boolean {
  return pod.metadata.labels?.['controller-revision-hash'] === 'new'
}

function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.[0]?.status === 'True'
}

function readied(set: Stored<DaemonSet>, pod: Stored<Pod>): Stored<Pod> {
  const { status } = podOf(set, 'a', 'R', 0)
  return { ...pod, ...(status && { status }) }
}
