import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhaseProgress } from './phase-progress.ts'

const pods = '[sig-node] Pods should start [Conformance]'
const jobs = '[sig-apps] Job should end [Serial] [Conformance]'

function progressOf(): PhaseProgress {
  return new PhaseProgress({ name: 'parallel', planned: [pods, jobs], startedMs: 0 })
}

/** What the lines show, and how it is described ten seconds after the last of them. */
function check(lines: string, expected: { failed?: string; seen: readonly string[]; text: string }): void {
  const progress = progressOf()
  const failed = lines.split('\n').flatMap(line => progress.read(line, 60_000) ?? [])
  const seen = progress.seen.map(({ name, state, seconds = '?', message = '' }) => {
    return `${state} ${seconds} ${name}${message && `: ${message}`}`
  })
  assert.deepEqual(seen, expected.seen)
  assert.deepEqual(failed, expected.failed === undefined ? [] : [expected.failed])
  assert.equal(progress.describe(70_000), expected.text)
}

test('of several processes the verdict comes before the name, when a test has ended', () => {
  check(
    `------------------------------
• [1.250 seconds]
${pods} [sig-node, Conformance]
k8s.io/kubernetes/test/e2e/common/node/pods.go:127

  Timeline >>
  STEP: Creating a kubernetes client
  << Timeline
------------------------------
• [FAILED] [30.000 seconds]
[sig-apps] Job [It] should end [Serial] [Conformance] [sig-apps, Serial, Conformance]
k8s.io/kubernetes/test/e2e/apps/job.go:20

  Timeline >>
  [FAILED] in [It] - k8s.io/kubernetes/test/e2e/apps/job.go:45
  << Timeline

  [FAILED] the job did not end
  In [It] at: k8s.io/kubernetes/test/e2e/apps/job.go:45`,
    {
      failed: jobs,
      seen: [`passed 1.25 ${pods}`, `failed 30 ${jobs}: the job did not end`],
      text: 'parallel: 2 of 2 done, 1 failed, 70 s',
    },
  )
})

test('of one process the name comes when a test begins, and again when it has failed', () => {
  check(
    `${pods} [sig-node, Conformance]
  STEP: Creating a kubernetes client
• [FAILED] [2.000 seconds]
[sig-node] Pods [BeforeEach] should start [Conformance] [sig-node, Conformance]

  [FAILED] no namespace
${jobs} [sig-apps, Serial, Conformance]
  STEP: Creating a kubernetes client`,
    {
      failed: pods,
      seen: [`failed 2 ${pods}: no namespace`, `interrupted ? ${jobs}`],
      text: `parallel: 1 of 2 done, 1 failed, 70 s; running for 10 s: ${jobs}`,
    },
  )
})

test('a progress report says how long a test has been running', () => {
  check(
    `  Progress Report for Ginkgo Process #11
  Automatically polling progress:
    ${pods} (Spec Runtime: 1m50.5s)
      In [It] (Node Runtime: 20s)
    ${jobs} (Spec Runtime: 20.359s)`,
    {
      seen: [`interrupted ? ${pods}`, `interrupted ? ${jobs}`],
      text: `parallel: 0 of 2 done, 0 failed, 70 s; running for 2 min 1 s: ${pods}`,
    },
  )
})

test('nodes of the suite, skipped and interrupted tests do not pass for failures', () => {
  check(
    `[SynchronizedBeforeSuite] PASSED [0.083 seconds]
[SynchronizedBeforeSuite] 
S [SKIPPED] [0.100 seconds]
${pods} [sig-node, Conformance]
• [INTERRUPTED] [3.000 seconds]
[sig-apps] Job [It] should end [Serial] [Conformance] [sig-apps, Serial, Conformance]`,
    {
      seen: [`skipped 0.1 ${pods}`, `interrupted 3 ${jobs}`],
      text: 'parallel: 1 of 2 done, 0 failed, 70 s',
    },
  )
})
