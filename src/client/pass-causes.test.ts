import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeCauses, PassCauses, type PassCause } from './pass-causes.ts'

/**
 * Steps on the key `a`: `+R@MS` is a change with revision R at that time, `+@MS` an add without one, `take`, and
 * `keep R,R@MS`. Expects what the last take returns.
 */
function check(steps: string, expected: string): void {
  const causes = new PassCauses()
  let taken: PassCause | undefined
  for (const step of steps.split('; ')) {
    const [what = '', time] = step.split('@')
    const queuedMs = Number(time)
    if (what.startsWith('+')) causes.add('a', queuedMs, what === '+' ? undefined : Number(what.slice(1)))
    else if (what.startsWith('keep'))
      causes.keep('a', { causes: what.slice(5).split(',').map(Number), queuedMs })
    else taken = causes.take('a')
  }
  assert.equal(taken === undefined ? 'none' : `${taken.causes.join()}@${taken.queuedMs}`, expected, steps)
  assert.equal(causes.size, 0, steps)
}

test('PassCauses: the changes since the last pass are the causes of the next one', () => {
  check('+5@100; take', '5@100')
  check('+5@100; +7@110; take', '5,7@100')
  check('+7@100; +5@110; +5@120; take', '5,7@100')
  check('+5@100; take; take', 'none')
  check('+5@100; take; +6@200; take', '6@200')
  check('+@100; +5@110; take', '5@100')
  check('+5@900; +@200; take', '5@200')
})

test('PassCauses: a key that its own pass adds keeps the causes until there are changes', () => {
  check('keep 5,6@100; take', '5,6@100')
  check('keep 5@100; +7@200; take', '7@100')
  check('keep 5@100; +@200; take', '5@100')
  check('+7@100; keep 5@200; take', '7@100')
  check('+@100; keep 5@200; take', '5@100')
})

test('PassCauses: the latest causes are kept when there are many', () => {
  const many = Array.from({ length: 20 }, (_, index) => `+${index + 1}@${index}`).join('; ')
  check(`${many}; take`, '13,14,15,16,17,18,19,20@0')
})

test('mergeCauses: ascending without duplicates, since the earlier add', () => {
  const left = { causes: [3, 5], queuedMs: 20 }
  assert.deepEqual(mergeCauses(left, undefined), left)
  assert.deepEqual(mergeCauses(left, { causes: [4, 5], queuedMs: 10 }), { causes: [3, 4, 5], queuedMs: 10 })
})
