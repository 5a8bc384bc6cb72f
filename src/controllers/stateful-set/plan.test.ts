import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StatefulSet, StatefulSetSpec } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { newStatefulSetPod, ordinalOf, revisionOf } from './identity.ts'
import { planStatefulSet, type StatefulSetPlan } from './plan.ts'
import { stored } from '../test-stored.ts'

const nowMs = Date.UTC(2026, 0, 1)

function setOf(spec: Partial<StatefulSetSpec>): Stored<StatefulSet> {
  return stored({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { namespace: 'default', name: 'web', uid: 'set' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {},
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...spec,
    },
  })
}

/**
 * State of one pod: `.` missing, `P` pending, `N` not ready, `R` ready, `Y` just ready, `T` terminating, `F`
 * failed; `'` marks the old revision.
 */
function podOf(set: Stored<StatefulSet>, ordinal: number, state: string): readonly Stored<Pod>[] {
  const [letter, old] = state
  if (letter === '.') return []
  const made = newStatefulSetPod(set, { ordinal, template: {}, revision: old ? 'old' : 'new' })
  const metadata = {
    ...made.metadata,
    uid: `uid-${ordinal}`,
    ...(letter === 'T' && { deletionTimestamp: 'now' }),
  }
  const phases: Readonly<Record<string, string>> = { P: 'Pending', F: 'Failed' }
  const since = formatTime(nowMs - (letter === 'Y' ? 1_000 : 100_000))
  const status = 'RYT'.includes(letter ?? '') ? 'True' : 'False'
  return [
    stored({
      ...made,
      metadata,
      status: {
        phase: phases[letter ?? ''] ?? 'Running',
        conditions: [{ type: 'Ready', status, lastTransitionTime: since }],
      },
    }),
  ]
}

/** `+1` creates a pod, `+1'` with the old revision, `-1` deletes one. */
function shown(set: StatefulSet, plan: StatefulSetPlan): string {
  const ordinal = (pod: Stored<Pod>): string => `-${ordinalOf(set, pod)}`
  const replicas = plan.actions.map(action => {
    if (action.do === 'create') return `+${action.ordinal}${action.revision === 'current' ? "'" : ''}`
    return action.do === 'delete' ? ordinal(action.pod) : `~${ordinalOf(set, action.pod)}`
  })
  return [...replicas, ...plan.delete.map(ordinal)].join(' ')
}

function planned(spec: Partial<StatefulSetSpec>, states: string): string {
  const set = setOf(spec)
  const pods = states.split(' ').flatMap((state, ordinal) => podOf(set, ordinal, state))
  const world = { set, pods, nowMs, currentRevision: 'old', updateRevision: 'new', claimOf: () => undefined }
  return shown(set, planStatefulSet(world))
}

function check(spec: Partial<StatefulSetSpec>, cases: Readonly<Record<string, string>>): void {
  for (const [states, expected] of Object.entries(cases))
    assert.equal(planned(spec, states), expected, states)
}

const parallel = { podManagementPolicy: 'Parallel' } as const

function rolling(rollingUpdate: object): Partial<StatefulSetSpec> {
  return { updateStrategy: { type: 'RollingUpdate', rollingUpdate } }
}

test('ordered: a pod is created when all lower ordinals are healthy', () => {
  check(
    { replicas: 3 },
    {
      '. . .': '+0',
      'P . .': '',
      'N . .': '',
      'R . .': '+1',
      'R T .': '',
      'R F .': '-1',
      'R . R': '+1',
      '. R R': '+0',
      'N . R': '',
      'R R R': '',
    },
  )
  check({ replicas: 2, minReadySeconds: 10 }, { 'Y .': '', 'R .': '+1' })
  check({ replicas: 2, ordinals: { start: 2 } }, { '. . . .': '+2', '. . R .': '+3', '. R R R': '-1' })
})

test('ordered: the highest ordinal is deleted first, while all others are healthy', () => {
  check(
    { replicas: 1 },
    {
      'R R R': '-2',
      'R R T': '',
      'N R R': '',
      'R R N': '-2',
      'R N R': '-2',
      'R N N': '',
      'R N': '-1',
      '. R R': '+0',
      'R F': '-1',
    },
  )
  check({ replicas: 0 }, { 'R R': '-1', 'R': '-0' })
})

test('ordered: an update starts at the highest ordinal and waits for each pod', () => {
  check(
    { replicas: 3 },
    {
      "R' R' R'": '-2',
      "R' R' T'": '',
      "R' R' .": '+2',
      "R' R' N": '',
      "R' R' R": '-1',
      "R' R R": '-0',
      "R' N' R": '',
      "R' . R": '+1',
      "R' R' R' R'": '-3',
    },
  )
  check(
    { replicas: 3, ...rolling({ partition: 2 }) },
    { "R' R' R'": '-2', "R' R' R": '', "R' . R": "+1'", "R' R' .": '+2' },
  )
  check({ replicas: 3, ...rolling({ partition: 5 }) }, { "R' R' R'": '', "R' R' .": "+2'" })
  check({ replicas: 3, updateStrategy: { type: 'OnDelete' } }, { "R' R' R'": '', "R' . R'": '+1' })
})

test('without a partition, pods not yet updated are recreated with the current revision', () => {
  check(
    { replicas: 3, updateStrategy: { type: 'RollingUpdate' } },
    { ". R' R'": "+0'", ". R' R": "+0'", '. R R': '+0', "R' . R": '+1', "R' R' .": '+2', '. . .': '+0' },
  )
})

test('an update deletes up to maxUnavailable pods', () => {
  check(
    { replicas: 4, ...rolling({ maxUnavailable: 2 }) },
    { "R' R' R' R'": '-3 -2', "R' R' R' R": '-2 -1', "R' R' R R": '-1 -0', "R' R' R' N": '' },
  )
  check({ replicas: 4, ...rolling({ maxUnavailable: '60%', partition: 3 }) }, { "R' R' R' R'": '-3' })
  check({ replicas: 3, ...rolling({ maxUnavailable: '10%' }) }, { "R' R' R'": '-2' })
  check(
    { replicas: 4, ...parallel, ...rolling({ maxUnavailable: 2 }) },
    {
      "R' R' R' N": '-2',
      "N' R' R' R'": '-0 -3',
      "N' N' N' R'": '-2 -1 -0',
      "R' R' N N": '',
      "R' R' . N": '+2',
    },
  )
})

test('parallel: pods are created and deleted together', () => {
  check(
    { replicas: 3, ...parallel },
    {
      '. . .': '+0 +1 +2',
      'N . F': '+1 -2',
      "R' R' R'": '-2',
      "N' N' N'": '-2',
      "R' R' N": '',
      "R' N' R": '-1',
    },
  )
  check({ replicas: 1, ...parallel }, { 'N R N T': '-2 -1', '. R': '+0 -1' })
})

test('a huge number of replicas is handled in batches', { timeout: 1_000 }, () => {
  const made = planned({ replicas: 2 ** 31 - 1, ...parallel }, 'R .').split(' ')
  assert.deepEqual([made.length, made[0], made.at(-1)], [500, '+1', '+500'])
  assert.equal(planned({ replicas: 2 ** 31 - 1 }, "R' ."), '+1')
})

test('the order holds and the set settles after any sequence of events', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ what: fc.constantFrom('ready', 'unready', 'gone', 'fail'), ordinal: fc.nat(4) }),
      fc.record({ what: fc.constant('scale'), ordinal: fc.nat(4) }),
      fc.record({ what: fc.constant('update'), ordinal: fc.nat(2) }),
    ),
    { maxLength: 25 },
  )
  const strategies = fc.constantFrom(undefined, { partition: 0 }, { partition: 2 }, { maxUnavailable: 2 })
  fc.assert(
    fc.property(steps, strategies, (events, rollingUpdate) => {
      const story = new Story(rollingUpdate)
      for (const { what, ordinal } of events) {
        story.happen(what, ordinal)
        story.act()
      }
      story.rest()
    }),
    { numRuns: 200 },
  )
})

/** A set and its pods, as states by ordinal. */
class Story {
  readonly #strategy: StatefulSetSpec['updateStrategy']
  readonly #states = new Map<number, string>()
  #replicas = 3
  #update = 'v0'
  #current = 'v0'
  readonly #revisions = new Map<number, string>()

  constructor(rollingUpdate: object | undefined) {
    this.#strategy = { type: 'RollingUpdate', ...(rollingUpdate && { rollingUpdate }) }
  }

  happen(what: string, ordinal: number): void {
    if (what === 'scale') this.#replicas = ordinal
    else if (what === 'update') this.#update = `v${ordinal}`
    else if (!this.#states.has(ordinal)) return
    else if (what === 'gone') this.#states.delete(ordinal)
    else this.#states.set(ordinal, { ready: 'R', unready: 'N', fail: 'F' }[what]!)
  }

  /** One reconcile; each action is checked against the state before it. */
  act(): boolean {
    const set = setOf({ replicas: this.#replicas, updateStrategy: this.#strategy! })
    const pods = [...this.#states].flatMap(([ordinal, state]) => {
      return podOf(set, ordinal, state).map(pod => {
        const labels = { ...pod.metadata.labels, 'controller-revision-hash': this.#revisions.get(ordinal)! }
        return { ...pod, metadata: { ...pod.metadata, labels } }
      })
    })
    const plan = planStatefulSet({
      set,
      pods,
      nowMs,
      currentRevision: this.#current,
      updateRevision: this.#update,
      claimOf: () => undefined,
    })
    for (const action of plan.actions) {
      if (action.do === 'create') this.#create(action.ordinal, action.revision)
      else if (action.do === 'delete') this.#states.delete(ordinalOf(set, action.pod)!)
    }
    for (const pod of plan.delete) this.#delete(ordinalOf(set, pod)!, revisionOf(pod), plan.delete.length)
    const isDone = [...this.#states.keys()].every(ordinal => this.#revisions.get(ordinal) === this.#update)
    if (isDone && this.#isWellBelow(this.#replicas) && this.#states.size === this.#replicas)
      this.#current = this.#update
    return plan.actions.length + plan.delete.length > 0
  }

  #create(ordinal: number, revision: 'current' | 'update'): void {
    assert.ok(this.#isWellBelow(ordinal), `${ordinal} comes before its turn`)
    assert.ok(!this.#states.has(ordinal) && ordinal < this.#replicas)
    this.#states.set(ordinal, 'P')
    this.#revisions.set(ordinal, revision === 'current' ? this.#current : this.#update)
  }

  #delete(ordinal: number, revision: string, count: number): void {
    assert.ok(
      this.#isWellBelow(Math.min(ordinal, this.#replicas)),
      `${ordinal} is deleted while others are not healthy`,
    )
    if (ordinal >= this.#replicas) {
      assert.equal(Math.max(...this.#states.keys()), ordinal, 'the last goes first')
      assert.equal(count, 1)
    } else {
      assert.notEqual(revision, this.#update)
      assert.ok(ordinal >= (this.#strategy?.rollingUpdate?.partition ?? 0))
      assert.ok(count <= Number(this.#strategy?.rollingUpdate?.maxUnavailable ?? 1))
    }
    this.#states.delete(ordinal)
  }

  #isWellBelow(end: number): boolean {
    return Array.from({ length: end }, (_, ordinal) => this.#states.get(ordinal)).every(
      state => state === 'R',
    )
  }

  /** Makes pods ready and reconciles until nothing changes, then checks the result. */
  rest(): void {
    for (let passes = 0; ; passes++) {
      assert.ok(passes < 100, 'it never rests')
      for (const ordinal of this.#states.keys()) this.#states.set(ordinal, 'R')
      if (!this.act()) break
    }
    assert.deepEqual(
      [...this.#states.keys()].toSorted((left, right) => left - right),
      Array.from({ length: this.#replicas }, (_, each) => each),
    )
    const partition = this.#strategy?.rollingUpdate?.partition ?? 0
    for (const [ordinal, revision] of this.#revisions) {
      if (this.#states.has(ordinal) && ordinal >= partition) assert.equal(revision, this.#update)
    }
  }
}
