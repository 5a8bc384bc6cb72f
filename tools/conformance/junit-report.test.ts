import assert from 'node:assert/strict'
import { test } from 'node:test'
import { junitReport } from './junit-report.ts'
import { testResults } from './test-results.ts'

test('the report is well-formed XML whatever messages contain', () => {
  const counts = 'tests="3" failures="1" skipped="1" time="130"'
  const suite = 'name="Kubernetes conformance v1.36.4" timestamp="2026-11-16T03:00:00.000Z"'
  const failed = 'classname="sig-apps" name="[sig-apps] Job &quot;a &amp; b&quot; [Conformance]" time="3"'
  assert.equal(
    junitReport(testResults),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
<testsuite ${suite} ${counts}>
<testcase classname="sig-node" name="[sig-node] Pods &lt;start&gt; [Conformance]" time="12.5"/>
<testcase ${failed}><failure type="failed" message="Unexpected error:">Unexpected error:
    &lt;*errors.StatusError | 0xc0&gt;: 
    no \uFFFD[31mjob\uFFFD</failure></testcase>
<testcase classname="sig-node" name="[sig-node] GPUs [Conformance]" time="0"><skipped message="no GPU"/></testcase>
</testsuite>
</testsuites>
`,
  )
})

test('a test that did not run is a failure', () => {
  const tests = [{ name: 'a', sig: 'suite', state: 'not-run', message: 'x\ud800' }] as const
  const report = junitReport({ ...testResults, tests })
  assert.match(report, /<failure type="not-run" message="x\uFFFD">x\uFFFD<\/failure>/)
})
