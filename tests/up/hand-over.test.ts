/** The process of a cluster is replaced by one of another program, in the place of its supervisor. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { nextProgramPath } from '#/cluster/plan-replacement.ts'
import { nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { adminClient, post, script } from './process.ts'
import { startSupervised } from './supervised-cluster.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const run = promisify(execFile)

async function holderOf(folder: string) {
  const holder = await readLockHolder(platform, folder)
  assert.ok(holder)
  return holder
}

/** A program in a folder of its own, as of another package. */
async function otherProgram(t: TestContext, text: string): Promise<string> {
  const path = join(await temporaryFolder(t), 'k8ts')
  await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 })
  return path
}

test('k8ts upgrade apply replaces the process, and data, port, flags and supervisor stay', async t => {
  const cluster = await startSupervised(t, '--no-node')
  const { folder } = cluster
  const before = await holderOf(folder)
  const client = await adminClient(folder)
  assert.equal((await post(client, '/api/v1/namespaces', { metadata: { name: 'kept' } })).status, 201)
  const { stdout } = await run(script, ['upgrade', 'apply', '--yes', '--data-dir', folder])
  assert.match(stdout, /^\[upgrade\/control-plane\] process \d+ hands over: containers go on$/m)
  assert.match(stdout, /^\[upgrade\] SUCCESS! Your cluster was upgraded to "v1\.36\.\d+\+k8ts\./m)
  const after = await holderOf(folder)
  assert.notEqual(after.pid, before.pid)
  assert.deepEqual(
    [after.supervisorPid, after.url, after.crash],
    [before.supervisorPid, before.url, undefined],
  )
  assert.equal((await client.ask('/api/v1/namespaces/kept')).status, 200)
  const snapshot = /^\[upgrade\/snapshot\] Saved (.*)$/m.exec(stdout)?.[1]
  const status = await run(script, ['snapshot', 'status', snapshot ?? ''])
  assert.match(status.stdout, /keys/)
})

test('after a hand-over and after a crash the supervisor goes on with the chosen program', async t => {
  const cluster = await startSupervised(t, '--no-node')
  const { folder } = cluster
  const mark = join(await temporaryFolder(t), 'started')
  const other = await otherProgram(t, `echo "$@" >>${mark}\nexec ${script} "$@"`)
  for (const signal of ['SIGUSR2', 'SIGKILL'] as const) {
    const before = await holderOf(folder)
    await writeFile(nextProgramPath(folder), `${other}\n`)
    process.kill(before.pid, signal)
    await waitUntil(async () => {
      const holder = await readLockHolder(platform, folder).catch(() => undefined)
      return holder?.isReady === true && holder.pid !== before.pid
    })
    assert.equal((await holderOf(folder)).supervisorPid, before.supervisorPid)
    await assert.rejects(access(nextProgramPath(folder)), { code: 'ENOENT' })
  }
  const line = `up --no-node --data-dir ${folder} --port 0\n`
  assert.equal(await readFile(mark, 'utf8'), line.repeat(2))
})

test('a program that cannot start is replaced by the one of before', async t => {
  const cluster = await startSupervised(t, '--no-node')
  const { folder } = cluster
  t.after(() => run(script, ['down', '--data-dir', folder]))
  const before = await holderOf(folder)
  const broken = await otherProgram(t, 'echo this package is broken >&2\nexit 1')
  const main = join(import.meta.dirname, '../../src/main.ts')
  const parameters = ['--conditions=k8ts-source', main, 'upgrade', 'apply', '--yes', '--data-dir', folder]
  const environment = { ...process.env, K8TS_LAUNCHER: broken }
  const failure = await run(process.execPath, parameters, { env: environment }).then(
    () => assert.fail('the upgrade has succeeded'),
    (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
  )
  assert.equal(failure.code, 1)
  assert.match(failure.stderr, /^\[upgrade\/control-plane\] k8ts \S+ is not ready: it has ended; see /m)
  assert.match(failure.stdout, /^\[upgrade\/control-plane\] Rolled back: k8ts \S+ runs$/m)
  assert.match(cluster.errors(), /this package is broken/)
  const after = await holderOf(folder)
  assert.deepEqual([after.isReady, after.url], [true, before.url])
})

test('an upgrade to another version, without a cluster, and without an answer changes nothing', async t => {
  const folder = await temporaryFolder(t)
  const upgrade = (...words: readonly string[]) => run(script, ['upgrade', ...words, '--data-dir', folder])
  await assert.rejects(upgrade('apply', 'v1.37.0'), {
    stderr: /this is v1\.36\.\S+, which cannot upgrade to v1\.37\.0/,
  })
  await assert.rejects(upgrade('apply'), { stderr: /no cluster is running in .*: start it with this k8ts/ })
  await assert.rejects(upgrade('apply', '--skip-phases', 'addon'), {
    stderr: /there is no phase addon, only preflight,/,
  })
  const cluster = await startSupervised(t, '--no-node')
  const { pid } = await holderOf(cluster.folder)
  const asked = run(script, ['upgrade', 'apply', '--data-dir', cluster.folder])
  asked.child.stdin?.end('n\n')
  await assert.rejects(asked, { code: 1, stderr: /Aborted: answer y, or add --yes/ })
  const plan = await run(script, ['upgrade', 'plan', '--data-dir', cluster.folder])
  assert.match(plan.stdout, /^All components have version v1\.36\.\S+: there is nothing to upgrade\.$/m)
  assert.equal((await holderOf(cluster.folder)).pid, pid)
})
