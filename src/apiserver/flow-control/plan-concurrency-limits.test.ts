import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { shuffleShard } from './fair-queues.ts'
import { boundsOf, planConcurrencyLimits, type LevelState } from './plan-concurrency-limits.ts'
import { SeatDemand } from './seat-demand.ts'

const steady = (seats: number) => ({ high: seats, average: seats, deviation: 0 })
const level = (nominal: number, min: number, max: number, demand: number, smoothed = 0): LevelState => {
  return { isExempt: false, nominal, min, max, demand: steady(demand), smoothed }
}

test('shares become nominal, lendable and borrowable seats', () => {
  const check = (shares: string, seats: string): void => {
    const [nominalShares = 0, lendablePercent = 0, borrowing] = shares.split(' ').map(Number)
    const parts = { isExempt: false, nominalShares, lendablePercent, borrowingPercent: borrowing }
    const { nominal, min, max } = boundsOf(parts, 245, 600)
    assert.equal(`${min} ${nominal} ${max}`, seats)
  }
  check('100 90', '24 245 600')
  check('5 0', '13 13 600')
  check('30 33', '50 74 600')
  check('40 50 100', '49 98 196')
  check('40 50 0', '49 98 98')
  check('0 0', '0 0 600')
})

test('levels with demand borrow unused seats', () => {
  const limits = (...levels: LevelState[]): number[] =>
    planConcurrencyLimits(levels, 100).levels.map(plan => plan.limit)
  assert.deepEqual(limits(level(50, 10, 100, 0), level(50, 10, 100, 0)), [50, 50])
  assert.deepEqual(limits(level(50, 10, 100, 0), level(50, 10, 100, 200)), [10, 90])
  assert.deepEqual(limits(level(50, 50, 100, 0), level(50, 10, 100, 200)), [50, 50])
  assert.deepEqual(limits(level(50, 10, 100, 0), level(50, 10, 60, 200)), [40, 60])
  assert.deepEqual(limits(level(50, 10, 100, 200), level(50, 10, 100, 200)), [50, 50])
  assert.deepEqual(limits(level(50, 10, 100, 30), level(50, 10, 100, 200)), [30, 70])
  const exempt = { ...level(10, 0, 100, 20), isExempt: true }
  assert.deepEqual(limits(exempt, level(90, 10, 100, 200)), [10, 90])
})

test('smoothed demand decreases slowly', () => {
  let smoothed = 0
  const seen: number[] = []
  for (const demand of [80, 0, 0, 0, 0]) {
    const [plan] = planConcurrencyLimits(
      [level(50, 10, 100, demand, smoothed), level(50, 10, 100, 60)],
      100,
    ).levels
    smoothed = plan!.smoothed
    seen.push(Math.round(smoothed))
  }
  assert.deepEqual(seen, [80, 78, 76, 75, 73])
})

test('concurrency limits respect minimums and the server total for random demand', () => {
  const levels = fc.array(
    fc.record({
      nominalShares: fc.integer({ min: 0, max: 200 }),
      lendablePercent: fc.integer({ min: 0, max: 100 }),
      borrowingPercent: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
      demand: fc.integer({ min: 0, max: 2_000 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  fc.assert(
    fc.property(levels, given => {
      const total = given.reduce((sum, { nominalShares }) => sum + nominalShares, 0)
      const states = given.map(({ demand, ...shares }) => ({
        ...boundsOf({ isExempt: false, ...shares }, total, 600),
        isExempt: false,
        demand: steady(demand),
        smoothed: 0,
      }))
      const { levels: plans } = planConcurrencyLimits(states, 600)
      for (const [index, { min, nominal }] of states.entries()) {
        assert.ok(
          plans[index]!.limit >= Math.min(nominal, Math.max(min, Math.min(nominal, given[index]!.demand))),
        )
      }
      // The nominal seats and the limit of each level are rounded.
      assert.ok(plans.reduce((sum, { limit }) => sum + limit, 0) <= 600 + 2 * given.length)
    }),
    { numRuns: 300 },
  )
})

test('seat demand is averaged over time', () => {
  const demand = new SeatDemand(0)
  demand.add(4, 0)
  demand.add(-2, 500)
  assert.deepEqual(demand.takePeriod(1_000), { high: 4, average: 3, deviation: 1 })
  assert.deepEqual(demand.takePeriod(2_000), { high: 2, average: 2, deviation: 0 })
  assert.deepEqual(demand.takePeriod(2_000), { high: 2, average: 2, deviation: 0 })
})

test('shuffle sharding deals each flow a stable and distinct hand', () => {
  assert.deepEqual(shuffleShard('a', 128, 6), shuffleShard('a', 128, 6))
  const flood = new Set(shuffleShard('flood', 128, 6))
  let covered = 0
  for (let index = 0; index < 1_000; index++) {
    const hand = shuffleShard(`user-${index}`, 128, 6)
    assert.equal(new Set(hand).size, 6)
    assert.ok(hand.every(queue => queue >= 0 && queue < 128))
    if (hand.every(queue => flood.has(queue))) covered++
  }
  assert.equal(covered, 0)
  assert.deepEqual(new Set(shuffleShard('a', 3, 8)), new Set([0, 1, 2]))
})
