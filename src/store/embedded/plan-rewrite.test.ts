import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planRewrite } from './plan-rewrite.ts'

/** Segments as `live/size`, e.g. `10/100 90/100`; the plan as the numbers of its segments. */
function check(segments: string, expected: string): void {
  const usage = segments.split(' ').map(text => {
    const [liveBytes = 0, sizeBytes = 0] = text.split('/').map(Number)
    return { liveBytes, sizeBytes }
  })
  const run = planRewrite(usage, 100)
  const numbers = run ? usage.map((_, index) => index).slice(run.from, run.to) : []
  assert.equal(numbers.join(' '), expected, segments)
}

test('segments that are mostly garbage are rewritten together', () => {
  check('10/100', '0')
  check('10/100 20/100 30/100', '0 1 2')
  check('90/100 10/100 20/100 90/100', '1 2')
})

test('segments with few garbage are left', () => {
  check('100/100', '')
  check('51/100', '')
  check('90/100 80/100', '')
})

test('the run that frees most is taken', () => {
  check('40/100 90/100 0/100 0/100', '2 3')
  check('0/100 0/100 90/100 40/100', '0 1')
})

test('the result is not larger than a segment', () => {
  check('45/100 45/100 45/100 45/100', '0 1')
})

test('small segments are joined with garbage around them, and not alone', () => {
  check('20/20 5/100', '0 1')
  check('5/100 20/20', '0 1')
  check('20/20 20/20 20/20', '')
})

test('a little garbage is not worth it', () => {
  check('0/20', '')
  check('5/24 5/24', '0 1')
})
