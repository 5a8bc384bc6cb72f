import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resultTable } from './result-table.ts'
import type { TestResult } from './results.ts'

const passed: TestResult = { name: '[sig-node] Pods', sig: 'sig-node', state: 'passed', seconds: 10.4 }
const failed: TestResult = {
  name: '[sig-apps] Job',
  sig: 'sig-apps',
  state: 'failed',
  seconds: 100,
  message: 'first\n\nsecond',
}
const check = (tests: readonly TestResult[], expected: string): void => {
  assert.equal(resultTable({ tests, seconds: 60 }), expected)
}

test('figures are by group, behind every failure with its message', () => {
  check(
    [passed, failed, { ...failed, name: '[sig-apps] CronJob', state: 'skipped' }],
    `FAILED [sig-apps] Job
    first
    second

          passed  failed  skipped  seconds
sig-apps       0       1        1      200
sig-node       1       0        0       10
total          1       1        1      210

elapsed: 60 s
`,
  )
})

test('tests that an interrupt kept from running have a column of their own', () => {
  check(
    [passed, { name: '[sig-node] Late', sig: 'sig-node', state: 'not-run' }],
    `          passed  failed  skipped  not run  seconds
sig-node       1       0        0        1       10
total          1       0        0        1       10

elapsed: 60 s
`,
  )
})
