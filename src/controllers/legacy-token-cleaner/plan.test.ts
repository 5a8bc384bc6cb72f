import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import { dayMs, parseDay, planByAge, planUnused, type UnusedPlan } from './plan.ts'
import { secretNamesOf } from '../legacy-token-cleaner.ts'
import { stored } from '../test-stored.ts'

const day = (text: string): number => parseDay(text) ?? Number.NaN
const periodMs = 10 * dayMs

function secretOf(labels: Readonly<Record<string, string>> = {}, uid = '') {
  const annotations = {
    'kubernetes.io/service-account.name': 'web',
    ...(uid && { 'kubernetes.io/service-account.uid': uid }),
  }
  return stored({
    metadata: { name: 'token', creationTimestamp: '2026-01-01T06:00:00Z', annotations, labels },
  })
}

const account = { metadata: { name: 'web', uid: 'u1' }, secrets: [{ name: 'token' }] }

test('a legacy token is examined when it is old and has not been used for long enough', () => {
  const check = (now: string, labels: Readonly<Record<string, string>>, expected: string): void => {
    const plan = planByAge({ secret: secretOf(labels), account, nowMs: Date.parse(now), periodMs })
    const shown = plan.action === 'wait' ? formatTime(plan.untilMs) : plan.action
    assert.equal(shown, expected, `${now} ${JSON.stringify(labels)}`)
  }
  const used = (date: string): Readonly<Record<string, string>> => ({
    'kubernetes.io/legacy-token-last-used': date,
  })
  check('2026-01-05T00:00:00Z', {}, '2026-01-11T06:00:00Z')
  check('2026-01-11T06:00:00Z', {}, '2026-01-11T06:00:00Z')
  check('2026-01-11T06:00:01Z', {}, 'look')
  check('2026-01-15T00:00:00Z', used('2026-01-05'), '2026-01-16T00:00:00Z')
  check('2026-01-16T00:00:01Z', used('2026-01-05'), 'look')
  check('2026-03-01T00:00:00Z', used('yesterday'), 'keep')
  check('2026-03-01T00:00:00Z', used('2026-02-30'), 'keep')
  check('2026-03-01T00:00:00Z', used(''), 'keep')
})

test('only a token that its service account references is auto-generated', () => {
  const nowMs = day('2027-01-01')
  const check = (world: Partial<Parameters<typeof planByAge>[0]>, expected: string): void => {
    assert.equal(planByAge({ secret: secretOf(), account, nowMs, periodMs, ...world }).action, expected)
  }
  check({}, 'look')
  check({ secret: secretOf({}, 'u1') }, 'look')
  check({ secret: secretOf({}, 'another') }, 'keep')
  check({ account: undefined }, 'keep')
  check({ account: { ...account, secrets: [{ name: 'other' }] } }, 'keep')
  const going = { ...secretOf().metadata, deletionTimestamp: '2026-01-02T00:00:00Z' }
  check({ secret: { metadata: going } }, 'keep')
})

test('an unused legacy token is first marked, later deleted, unless mounted or untracked', () => {
  const check = (
    world: { readonly since?: string; readonly isMounted?: boolean; readonly invalid?: string },
    expected: UnusedPlan | string,
  ): void => {
    const nowMs = day('2026-02-01')
    const labels = { ...(world.invalid && { 'kubernetes.io/legacy-token-invalid-since': world.invalid }) }
    const plan = planUnused({
      secret: secretOf(labels),
      trackedSinceMs: world.since === undefined ? undefined : day(world.since),
      isMounted: world.isMounted ?? false,
      nowMs,
      periodMs,
    })
    assert.deepEqual(plan.action === 'wait' ? formatTime(plan.untilMs).slice(0, 10) : plan, expected)
  }
  check({}, '2026-02-02')
  check({ since: '2026-01-01', isMounted: true }, '2026-02-02')
  check({ since: '2026-01-25' }, '2026-02-05')
  check({ since: '2026-01-01' }, { action: 'invalidate', day: '2026-02-01' })
  check({ since: '2026-01-01', invalid: 'x' }, { action: 'invalidate', day: '2026-02-01' })
  check({ since: '2026-01-01', invalid: '2026-01-22' }, '2026-02-02')
  check({ since: '2026-01-01', invalid: '2026-01-21' }, { action: 'delete' })
})

test('secretNamesOf finds every reference of a pod to a secret', () => {
  const container = {
    name: 'a',
    env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }, { name: 'Y' }],
    envFrom: [{ secretRef: { name: 'env-from' } }, { configMapRef: { name: 'map' } }],
  }
  const pod: Pod = {
    metadata: {},
    spec: {
      imagePullSecrets: [{ name: 'pull' }, {}],
      containers: [container],
      initContainers: [{ name: 'b', envFrom: [{ secretRef: { name: 'init' } }] }],
      volumes: [
        { name: 'a', secret: { secretName: 'volume' } },
        { name: 'b', projected: { sources: [{ secret: { name: 'projected' } }, {}] } },
        { name: 'c', csi: { driver: 'x', nodePublishSecretRef: { name: 'csi' } } },
        { name: 'd', emptyDir: {} },
      ],
    },
  }
  const expected = ['csi', 'env', 'env-from', 'init', 'projected', 'pull', 'volume']
  assert.deepEqual([...secretNamesOf(pod)].sort(), expected)
  assert.deepEqual([...secretNamesOf({ metadata: {} })], [])
})
