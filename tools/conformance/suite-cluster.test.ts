import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { processesWith } from '../../tests/node/test-containerd.ts'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import { SuiteCluster } from './suite-cluster.ts'

test('a cluster that does not start is explained by its own words', async t => {
  const folder = await temporaryFolder(t)
  const log = join(folder, 'k8ts.log')
  await writeFile(join(folder, 'file'), '')
  const options = {
    folder: join(folder, 'file', 'cluster'),
    runtime: 'simulated',
    path: '/usr/bin:/bin',
    log,
  } as const
  const { signal } = new AbortController()
  await assert.rejects(
    SuiteCluster.start(options, signal),
    /^Error: the cluster did not start: .*file\/cluster/s,
  )
  assert.match(await readFile(log, 'utf8'), /file\/cluster/)
})

test('a cluster says when it has ended by itself, and an interrupt ends its start', async t => {
  const folder = await temporaryFolder(t)
  const options = {
    folder: join(folder, 'cluster'),
    runtime: 'simulated',
    path: '/usr/bin:/bin',
    log: join(folder, 'k8ts.log'),
  } as const
  const interrupt = AbortSignal.abort(new Error('interrupted'))
  await assert.rejects(SuiteCluster.start(options, interrupt), /interrupted/)
  const soon = new AbortController()
  setTimeout(() => soon.abort(new Error('interrupted')), 400)
  await assert.rejects(SuiteCluster.start(options, soon.signal), /interrupted/)
  assert.equal(existsSync(options.folder), false, 'nothing is left')
  await using cluster = await SuiteCluster.start(options, new AbortController().signal)
  assert.match(await readFile(cluster.kubeconfig, 'utf8'), /server: https:/)
  assert.equal(cluster.ended.aborted, false)
  const ended = new Promise(resolve => cluster.ended.addEventListener('abort', resolve))
  for (const pid of await processesWith(options.folder)) process.kill(pid, 'SIGKILL')
  await ended
  assert.match(String(cluster.ended.reason), /k8ts up ended with SIGKILL: see .*k8ts\.log$/)
})
