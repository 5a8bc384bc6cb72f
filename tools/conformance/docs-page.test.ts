import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf, docsPage } from './docs-page.ts'
import { mergeRuns } from './merge-runs.ts'
import { testResults } from './test-results.ts'

const results = mergeRuns([testResults])

test('the page has the run, figures by group, failures with their causes, and how to run it', () => {
  const page = docsPage(results)
  const expected = `# Conformance

<!-- Generated from a run by npm run conformance -- --write-docs. Do not edit. -->

1 of 3 tests of Kubernetes' conformance suite pass.

| run |  |
|---|---|
| suite | v1.36.4 |
| k8ts | 0.1.0, commit 0123456789ab |
| date | 2026-11-16 |
| machine | Debian GNU/Linux 12, Linux 6.1.0, 2 cores, 8 GiB |
| container runtime | containerd 1.6.20 |
| nodes | 1 |
| parallel processes | 12 |
| duration | 2 min 10 s |

## By special interest group

|  | passed | failed | skipped | seconds |
|---|---|---|---|---|
| sig-apps | 0 | 1 | 0 | 3 |
| sig-node | 1 | 0 | 1 | 13 |
| total | 1 | 1 | 1 | 16 |

## Failing tests

| test | cause |
|---|---|
| \\[sig-apps\\] Job "a & b" \\[Conformance\\] | no \uFFFD\\[31mjob\uFFFD |

## Run it

`
  assert.equal(page.slice(0, expected.length), expected)
  assert.doesNotMatch(page, /## Time|## Outside/)
})

test('with a reference the page compares the tests that passed, the slowest first', () => {
  const pods = '[sig-node] Pods <start> [Conformance]'
  const quick = { name: 'quick', sig: 'sig-node', state: 'passed', seconds: 1 } as const
  const compared = mergeRuns([{ ...testResults, tests: [quick, ...testResults.tests] }])
  const reference = { [pods]: 5, 'quick': 2, '[sig-node] GPUs [Conformance]': 1, 'unknown': 1 }
  const page = docsPage(compared, { reference })
  const [, section] = /## Time\n([^]*?)## Run it/.exec(page) ?? []
  assert.equal(
    section,
    `
Seconds of the 2 tests that pass and have a reference, compared with upstream
Kubernetes; the 40 largest differences, then the total of all.

| test | upstream | k8ts | ratio |
|---|---|---|---|
| \\[sig-node\\] Pods \\<start> \\[Conformance\\] | 5.0 | 12.5 | 2.50 |
| quick | 2.0 | 1.0 | 0.50 |
| total | 7.0 | 13.5 | 1.93 |

`,
  )
})

test('tests outside conformance have figures of their own, with the runs that repeat some', () => {
  const outside = { ...testResults, labels: 'sig-apps || sig-node' }
  const [, failed] = testResults.tests
  const again = { ...outside, tests: [{ ...failed!, state: 'passed' as const }] }
  const page = docsPage(results, { beyond: [mergeRuns([outside, again])] })
  const [, section] = /## Outside conformance\n([^]*?)## Run it/.exec(page) ?? []
  assert.equal(
    section,
    `
### sig-apps, sig-node

2 of 2 tests pass; 1 more skip themselves.

| run |  |
|---|---|
| suite | v1.36.4 |
| k8ts | 0.1.0, commit 0123456789ab |
| date | 2026-11-16 |
| machine | Debian GNU/Linux 12, Linux 6.1.0, 2 cores, 8 GiB |
| container runtime | containerd 1.6.20 |
| nodes | 1 |
| parallel processes | 12 |
| labels | sig-apps \\|\\| sig-node |
| duration | 2 min 10 s |
| run again | 1 test with k8ts 0.1.0, commit 0123456789ab |

|  | passed | failed | skipped | seconds |
|---|---|---|---|---|
| sig-apps | 1 | 0 | 0 | 3 |
| sig-node | 1 | 0 | 1 | 13 |
| total | 2 | 0 | 1 | 16 |

| test | skipped because |
|---|---|
| \\[sig-node\\] GPUs \\[Conformance\\] | no GPU |

`,
  )
})

test('a cause is a known one of such a run, or the first line of the message that says something', () => {
  const check = (name: string, message: string, expected: string, run = { nodes: 1 }): void => {
    assert.equal(causeOf({ name, sig: 'suite', state: 'failed', message }, run), expected)
  }
  const untainted = '[sig-architecture] Conformance Tests should have at least two untainted nodes'
  check(untainted, 'x', 'needs two nodes')
  check(untainted, 'x', 'x', { nodes: 2 })
  const mounted = (containerd: string): void => {
    const test = { name: '[sig-node] ImageVolume', sig: 'sig-node', state: 'failed', message: 'x' } as const
    const runtime = 'the container runtime cannot mount images: containerd can from 2.1 on'
    const isOld = containerd !== 'v2.1.9'
    assert.equal(causeOf(test, { nodes: 1, containerd }), isOld ? runtime : 'x')
  }
  for (const version of ['1.6.20~ds1', 'v2.0.5', 'v2.1.9']) mounted(version)
  check(
    'a',
    'Unexpected error:\n    <*errors.StatusError | 0xc0>: \n    pods not found\n    {',
    'pods not found',
  )
  check('a', '', 'failed')
  assert.equal(
    causeOf({ name: 'a', sig: 'suite', state: 'not-run' }, { nodes: 1 }),
    'the run was interrupted',
  )
})
