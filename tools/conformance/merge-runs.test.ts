import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeRuns } from './merge-runs.ts'
import type { TestState } from './results.ts'
import { testResults } from './test-results.ts'

test('the last run of a test counts, and tests that the first run did not have are left out', () => {
  const run = (commit: string, tests: Readonly<Record<string, TestState>>) => ({
    ...testResults,
    k8ts: { ...testResults.k8ts, commit },
    tests: Object.entries(tests).map(([name, state]) => ({ name, sig: 'sig-apps', state })),
  })
  const merged = mergeRuns([
    run('a', { one: 'failed', two: 'failed', three: 'passed' }),
    run('b', { one: 'passed', two: 'failed' }),
    run('c', { two: 'passed', other: 'failed' }),
  ])
  assert.deepEqual(
    merged.tests.map(({ name, state }) => `${name} ${state}`),
    ['one passed', 'two passed', 'three passed'],
  )
  assert.deepEqual(
    merged.reruns.map(({ k8ts, testCount }) => `${k8ts.commit} ${testCount}`),
    ['b 2', 'c 1'],
  )
  assert.equal(merged.k8ts.commit, 'a')
})
