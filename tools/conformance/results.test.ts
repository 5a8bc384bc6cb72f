import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSuccess, mergeOutcomes, type PhaseOutcome, type TestResult, type TestState } from './results.ts'

/** `a:passed b:failed`, and the phases of a run between bars. */
function tests(text: string): readonly TestResult[] {
  const words = text.split(' ').filter(word => word !== '')
  return words.map(word => {
    const [name = '', state = ''] = word.split(':')
    return { name, sig: 'suite', state: state as TestState }
  })
}

function outcome(planned: string, reported: string, printed: string): PhaseOutcome {
  return { planned: planned.split(' '), reported: tests(reported), printed: tests(printed) }
}

test('both phases are one list, in which reports count before what was printed', () => {
  const check = (outcomes: readonly PhaseOutcome[], expected: string): void => {
    const merged = mergeOutcomes(outcomes).map(({ name, state }) => `${name}:${state}`)
    assert.equal(merged.join(' '), expected)
  }
  const serial = outcome('c d', 'c:passed d:failed', 'c:passed')
  check([outcome('a b', 'a:passed b:passed', 'a:passed b:passed')], 'a:passed b:passed')
  check([outcome('a b', 'a:failed b:passed', 'a:passed'), serial], 'a:failed b:passed c:passed d:failed')
  check([outcome('a b', '', 'b:failed')], 'b:failed a:not-run')
  check([outcome('a b', 'a:interrupted', '')], 'a:interrupted b:not-run')
  check([outcome('a b', '', ''), serial], 'a:not-run b:not-run c:passed d:failed')
  check([outcome('a', 'a:passed [BeforeSuite]:failed', '')], 'a:passed [BeforeSuite]:failed')
})

test('a run is a success when all that ran passed, and something ran', () => {
  const check = (text: string, expected: boolean): void => {
    assert.equal(isSuccess({ tests: tests(text) }), expected, text)
  }
  check('a:passed b:passed', true)
  check('a:passed b:skipped', true)
  check('a:passed b:failed', false)
  check('a:passed b:interrupted', false)
  check('a:passed b:not-run', false)
  check('a:skipped', false)
  check('', false)
})
