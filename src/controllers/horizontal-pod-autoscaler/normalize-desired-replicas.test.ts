import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HPAScalingRules } from '#/api/generated/autoscaling/v2.ts'
import { normalizeDesiredReplicas, type LimitsWorld } from './normalize-desired-replicas.ts'

const minute = 60_000

function worldOf(more: Partial<LimitsWorld>): LimitsWorld {
  return {
    currentReplicas: 10,
    proposedReplicas: 10,
    minReplicas: 1,
    maxReplicas: 100,
    history: { recommendations: [], changes: [] },
    downscaleWindowMs: 5 * minute,
    nowMs: 60 * minute,
    ...more,
  }
}

/** `replicas able limited`: the reasons of AbleToScale and ScalingLimited; `!` if limited. */
function check(more: Partial<LimitsWorld>, expected: string): void {
  const { replicas, ableToScale, scalingLimited } = normalizeDesiredReplicas(worldOf(more))
  const got = `${replicas} ${ableToScale.reason} ${scalingLimited.reason}${scalingLimited.isLimited ? '!' : ''}`
  assert.equal(got, expected, JSON.stringify(more))
}

/** `replicas@minutesAgo`. */
function recommended(...entries: readonly string[]): LimitsWorld['history'] {
  return { recommendations: entries.map(entryOf), changes: [] }
}

function changed(...entries: readonly string[]): LimitsWorld['history'] {
  return { recommendations: [], changes: entries.map(entryOf) }
}

function entryOf(text: string): { readonly replicas: number; readonly atMs: number } {
  const [replicas = '', minutesAgo = ''] = text.split('@')
  return { replicas: Number(replicas), atMs: (60 - Number(minutesAgo)) * minute }
}

test('without behavior: at most doubled or four; scaled down after five minutes', () => {
  check({}, '10 ReadyForNewScale DesiredWithinRange')
  check({ proposedReplicas: 15 }, '15 ReadyForNewScale DesiredWithinRange')
  check({ proposedReplicas: 50 }, '20 ReadyForNewScale ScaleUpLimit!')
  check({ currentReplicas: 1, proposedReplicas: 50 }, '4 ReadyForNewScale ScaleUpLimit!')
  check({ proposedReplicas: 50, maxReplicas: 12 }, '12 ReadyForNewScale TooManyReplicas!')
  check({ proposedReplicas: 1, minReplicas: 3 }, '3 ReadyForNewScale TooFewReplicas!')
  check({ proposedReplicas: 2 }, '2 ReadyForNewScale DesiredWithinRange')
  check(
    { proposedReplicas: 2, history: recommended('8@4', '10@6') },
    '8 ScaleDownStabilized DesiredWithinRange',
  )
  check({ proposedReplicas: 2, history: recommended('10@6') }, '2 ReadyForNewScale DesiredWithinRange')
  check(
    { proposedReplicas: 2, history: recommended('9@0.4'), downscaleWindowMs: 10_000 },
    '2 ReadyForNewScale DesiredWithinRange',
  )
})

const usualUp: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 60 },
    { type: 'Percent', value: 100, periodSeconds: 60 },
  ],
}
const usualDown: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 60 },
    { type: 'Percent', value: 10, periodSeconds: 60 },
  ],
}

function ruled(up: Partial<HPAScalingRules>, down: Partial<HPAScalingRules> = {}): Partial<LimitsWorld> {
  return { behavior: { scaleUp: { ...usualUp, ...up }, scaleDown: { ...usualDown, ...down } } }
}

test('scaling policies limit the change per period', () => {
  // The documentation's example: 10% of 80 pods is 8; of 10 pods, the policy of four pods allows more.
  check({ ...ruled({}), currentReplicas: 80, proposedReplicas: 10 }, '72 ReadyForNewScale ScaleDownLimit!')
  check({ ...ruled({}), currentReplicas: 10, proposedReplicas: 1 }, '6 ReadyForNewScale ScaleDownLimit!')
  check({ ...ruled({}), currentReplicas: 3, proposedReplicas: 1 }, '1 ReadyForNewScale DesiredWithinRange')
  check(
    { ...ruled({}), currentReplicas: 3, proposedReplicas: 1, minReplicas: 2 },
    '2 ReadyForNewScale TooFewReplicas!',
  )
  check({ ...ruled({}), currentReplicas: 1, proposedReplicas: 50 }, '5 ReadyForNewScale ScaleUpLimit!')
  check({ ...ruled({}), currentReplicas: 10, proposedReplicas: 50 }, '20 ReadyForNewScale ScaleUpLimit!')
  check({ ...ruled({}), proposedReplicas: 50, maxReplicas: 15 }, '15 ReadyForNewScale TooManyReplicas!')
  check({ ...ruled({ selectPolicy: 'Min' }), proposedReplicas: 50 }, '14 ReadyForNewScale ScaleUpLimit!')
  check({ ...ruled({}, { selectPolicy: 'Min' }), proposedReplicas: 1 }, '9 ReadyForNewScale ScaleDownLimit!')
  check({ ...ruled({ selectPolicy: 'Disabled' }), proposedReplicas: 50 }, '10 ReadyForNewScale ScaleUpLimit!')
  check(
    { ...ruled({}, { selectPolicy: 'Disabled' }), proposedReplicas: 1 },
    '10 ReadyForNewScale ScaleDownLimit!',
  )
  const tenth = { policies: [{ type: 'Percent', value: 10, periodSeconds: 60 }] }
  // Rounded up when scaling up, since three could never become four otherwise.
  check({ ...ruled(tenth), currentReplicas: 3, proposedReplicas: 9 }, '4 ReadyForNewScale ScaleUpLimit!')
})

test('changes within the period count towards scaling policies', () => {
  const fivePods = { policies: [{ type: 'Pods', value: 5, periodSeconds: 60 }] }
  const up = (history: LimitsWorld['history']): Partial<LimitsWorld> => {
    return { ...ruled(fivePods, fivePods), proposedReplicas: 50, history }
  }
  check(up(changed('3@0.5')), '12 ReadyForNewScale ScaleUpLimit!')
  check(up(changed('3@2')), '15 ReadyForNewScale ScaleUpLimit!')
  check(up(changed('5@0.5')), '10 ReadyForNewScale ScaleUpLimit!')
  // If more than allowed has already changed, nothing is reverted.
  check(up(changed('9@0.5')), '10 ReadyForNewScale ScaleUpLimit!')
  check(up(changed('5@0.5', '-5@0.2')), '15 ReadyForNewScale ScaleUpLimit!')
  const down = { ...ruled(fivePods, fivePods), proposedReplicas: 1 }
  check({ ...down, history: changed('-3@0.5') }, '8 ReadyForNewScale ScaleDownLimit!')
  check({ ...down, history: changed('-9@0.5') }, '10 ReadyForNewScale ScaleDownLimit!')
})

test('stabilization windows: the lowest recent value scales up, the highest scales down', () => {
  const windows = ruled({ stabilizationWindowSeconds: 120 }, { stabilizationWindowSeconds: 180 })
  const lately = recommended('14@1', '12@1.5', '8@2.5', '20@4')
  check({ ...windows, proposedReplicas: 16, history: lately }, '12 ScaleUpStabilized DesiredWithinRange')
  check(
    { ...windows, proposedReplicas: 16, history: recommended('9@1') },
    '10 ScaleUpStabilized DesiredWithinRange',
  )
  check(
    { ...windows, proposedReplicas: 7, history: recommended('8@2.5') },
    '8 ScaleDownStabilized DesiredWithinRange',
  )
  check(
    { ...windows, proposedReplicas: 7, history: recommended('30@1') },
    '10 ScaleDownStabilized DesiredWithinRange',
  )
  // Without its own window, the controller's default applies.
  const own = { behavior: { scaleUp: usualUp, scaleDown: { policies: usualDown.policies! } } }
  check(
    { ...own, proposedReplicas: 7, history: recommended('9@4') },
    '9 ScaleDownStabilized DesiredWithinRange',
  )
  check({ ...own, proposedReplicas: 7, history: recommended('9@6') }, '7 ReadyForNewScale DesiredWithinRange')
})

test('only recommendations within the windows are kept', () => {
  const { recommendations } = normalizeDesiredReplicas(
    worldOf({ proposedReplicas: 3, history: recommended('8@4', '10@6') }),
  )
  assert.deepEqual(recommendations, [entryOf('8@4'), { replicas: 3, atMs: 60 * minute }])
})

test('the result is within minReplicas and maxReplicas and never overshoots', () => {
  const count = fc.integer({ min: 1, max: 200 })
  const rules = fc.record({
    stabilizationWindowSeconds: fc.constantFrom(0, 60, 600),
    selectPolicy: fc.constantFrom('Min', 'Max', 'Disabled'),
    policies: fc.array(
      fc.record({
        type: fc.constantFrom('Pods', 'Percent'),
        value: fc.integer({ min: 1, max: 300 }),
        periodSeconds: fc.constantFrom(15, 60, 1800),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  const entries = fc.array(
    fc.record({
      replicas: fc.integer({ min: -50, max: 200 }),
      atMs: fc.integer({ min: 0, max: 60 * minute }),
    }),
    { maxLength: 5 },
  )
  const behavior = fc.option(fc.record({ scaleUp: rules, scaleDown: rules }), { nil: undefined })
  fc.assert(
    fc.property(count, count, count, count, behavior, entries, entries, (...args) => {
      const [a, b, currentOffset, proposedReplicas, chosen, recommendations, changes] = args
      const [minReplicas, maxReplicas] = a < b ? [a, b] : [b, a]
      const currentReplicas = minReplicas + (currentOffset % (maxReplicas - minReplicas + 1))
      const { replicas } = normalizeDesiredReplicas(
        worldOf({
          minReplicas,
          maxReplicas,
          currentReplicas,
          proposedReplicas,
          behavior: chosen,
          history: {
            recommendations: recommendations.map(r => ({ ...r, replicas: Math.abs(r.replicas) })),
            changes,
          },
        }),
      )
      assert.ok(
        Number.isInteger(replicas) && replicas >= minReplicas && replicas <= maxReplicas,
        `${replicas}`,
      )
      if (chosen && proposedReplicas > currentReplicas) assert.ok(replicas >= currentReplicas)
      if (chosen && proposedReplicas < currentReplicas) assert.ok(replicas <= currentReplicas)
    }),
    { numRuns: 300 },
  )
})
