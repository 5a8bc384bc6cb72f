/** One result of several runs: a test that ran again has the result of its last run. */
import type { Results, TestResult } from './results.ts'

export interface MergedResults extends Results {
  /** Runs that only repeat tests of the first one. */
  readonly reruns: readonly Rerun[]
}

export interface Rerun {
  readonly k8ts: Results['k8ts']
  readonly testCount: number
}

/** Tests that a later run has in addition to those of the first are left out. */
export function mergeRuns([first, ...later]: readonly [Results, ...Results[]]): MergedResults {
  const tests = new Map<string, TestResult>(first.tests.map(test => [test.name, test]))
  const reruns = later.map(({ k8ts, tests: again }) => {
    const repeated = again.filter(({ name }) => tests.has(name))
    for (const test of repeated) tests.set(test.name, test)
    return { k8ts, testCount: repeated.length }
  })
  return { ...first, tests: [...tests.values()], reruns }
}
