/** Whole runs, with a suite of three tests and a real cluster whose node is simulated. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../tests/temporary-folder.ts'
import type { Results } from './conformance/results.ts'

const tool = fileURLToPath(new URL('conformance.ts', import.meta.url))
const fakeSuite = fileURLToPath(new URL('conformance/test-fake-suite.ts', import.meta.url))

test('both phases run against a cluster, and an interrupt leaves the results that there are', async t => {
  const run = await startRun(t)
  await untilContains(join(run.report, 'serial.log'), 'Taint waits')
  run.child.kill('SIGINT')
  assert.deepEqual(await once(run.child, 'close'), [130, null], run.output())
  const results = JSON.parse(await readFile(join(run.report, 'results.json'), 'utf8')) as Results
  assert.deepEqual(
    results.tests.map(({ sig, state, message = '' }) => `${sig} ${state} ${message}`.trim()),
    ['sig-api-machinery passed', 'sig-apps failed no <job>', 'sig-node interrupted Interrupted by User'],
  )
  assert.deepEqual([results.suite, results.nodes, results.isInterrupted], ['v1.36.4', 1, true])
  assert.match(await readFile(join(run.report, 'junit.xml'), 'utf8'), />no &lt;job&gt;</)
  assert.match(run.output(), /^FAILED \[sig-apps\] Job fails \[Conformance\]$/m)
  assert.match(run.output(), /^total +1 +1 +0 +1 +1$/m)
  assert.deepEqual(await readdir(run.temporary), [], 'the cluster is gone')
})

test('a run in which every chosen test passed ends with 0', async t => {
  const run = await startRun(t, '--focus', 'Version')
  assert.deepEqual(await once(run.child, 'close'), [0, null], run.output())
  assert.match(run.output(), /^no ginkgo was found: one test runs at a time/m)
  assert.match(run.output(), /^total +1 +0 +0 +0$/m)
  assert.deepEqual(await readdir(run.temporary), [], 'the cluster is gone')
})

test('whatever is missing is said before anything starts', async t => {
  const check = async (flags: string, expected: RegExp): Promise<void> => {
    const run = await startRun(t, ...flags.split(' '))
    assert.deepEqual(await once(run.child, 'close'), [2, null], run.output())
    assert.match(run.output(), expected)
    assert.deepEqual(await readdir(run.temporary), [])
  }
  await check('--suite /nowhere/e2e.test', /^conformance: --suite .*: there is no such file\n$/)
  await check(
    '--kubectl /etc/passwd',
    /^conformance: --kubectl .*: not executable; chmod \+x \/etc\/passwd\n$/,
  )
  await check('--images /nowhere', /^conformance: --images \/nowhere: there is no such folder\n$/)
  await check(
    '--focus nothing',
    /^conformance: --focus nothing: no test with the labels Conformance matches\n$/,
  )
})

interface Run {
  readonly child: ChildProcess
  readonly report: string
  /** Where the run keeps what it removes when it ends. */
  readonly temporary: string
  readonly output: () => string
}

async function startRun(t: TestContext, ...flags: readonly string[]): Promise<Run> {
  const folder = await temporaryFolder(t)
  const suite = join(folder, 'e2e.test')
  await writeFile(suite, `#!/bin/sh\nexec '${process.execPath}' '${fakeSuite}' "$@"\n`)
  await writeFile(join(folder, 'kubectl'), '#!/bin/sh\n')
  for (const name of ['e2e.test', 'kubectl']) await chmod(join(folder, name), 0o755)
  const [report, temporary] = [join(folder, 'report'), join(folder, 'temporary')]
  await mkdir(temporary)
  const given = ['--runtime', 'simulated', '--suite', suite, '--report', report, ...flags]
  const env = { ...process.env, PATH: '/usr/bin:/bin', TMPDIR: temporary }
  const child = spawn(process.execPath, [tool, ...given], { env })
  t.after(() => child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  return { child, report, temporary, output: () => output }
}

/** The test's own time limit bounds the wait. */
async function untilContains(path: string, text: string): Promise<void> {
  while (!(await readFile(path, 'utf8').catch(() => '')).includes(text)) await sleep(50)
}
