import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Sample } from '../format/sample-series.ts'
import { addSamples, formatRate, ratesOf } from './counter-series.ts'

function samples(...values: readonly number[]): Sample[] {
  return values.map((value, index) => ({ timeMs: index * 2_000, value }))
}

function checkRates(values: readonly number[], rates: readonly number[]): void {
  assert.deepEqual(
    ratesOf(samples(...values)).map(({ value }) => value),
    rates,
  )
}

test('ratesOf is the increase per second, and counts from zero after a reset', () => {
  checkRates([], [])
  checkRates([7], [])
  checkRates([10, 14, 14, 24], [2, 0, 5])
  checkRates([10, 4], [2])
})

test('addSamples keeps the history of quantities that still exist', () => {
  const first = addSamples(new Map(), {
    timeMs: 1,
    values: [
      ['a', 1],
      ['b', 5],
    ],
  })
  const second = addSamples(first, {
    timeMs: 2,
    values: [
      ['a', 3],
      ['c', 0],
    ],
  })
  assert.deepEqual([...second.keys()], ['a', 'c'])
  assert.deepEqual(
    second.get('a')?.map(({ value }) => value),
    [1, 3],
  )
})

test('formatRate does not show a low rate as none', () => {
  assert.deepEqual([undefined, 0, 0.01, 0.42, 12.4, 1_234].map(formatRate), [
    '',
    '0',
    '<0.1',
    '0.4',
    '12',
    '1,234',
  ])
})
