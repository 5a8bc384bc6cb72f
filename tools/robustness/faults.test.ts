import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { planFaults, type Fault, type PlannedFault } from './faults.ts'

const faults: readonly Fault[] = (['kill', 'stop', 'partition'] as const).map(kind => {
  return { kind, inject: async () => async () => undefined }
})

function plan(seed: string): PlannedFault[] {
  return planFaults(faults, new SeededRandom(seed)).take(300).toArray()
}

test('a seed gives the same faults', () => {
  assert.deepEqual(plan('1'), plan('1'))
  assert.notDeepEqual(plan('1'), plan('2'))
})

test('each kind comes once in every round, every few seconds', () => {
  const planned = plan('1')
  for (let start = 0; start < planned.length; start += faults.length) {
    const kinds = planned.slice(start, start + faults.length).map(({ fault }) => fault.kind)
    assert.deepEqual(kinds.sort(), ['kill', 'partition', 'stop'])
  }
  for (const { quietMs, lengthMs } of planned) assert.ok(quietMs > 0 && quietMs + lengthMs < 10_000)
  assert.equal(new Set(planned.map(({ fault }) => fault.kind).slice(0, 30)).size, 3)
})
