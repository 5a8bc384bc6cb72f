/** The data folder is deleted while `k8ts up` runs. */
import assert from 'node:assert/strict'
import { rm, stat } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { startSupervised, type SupervisedCluster } from './supervised-cluster.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

interface Deleted extends SupervisedCluster {
  /** The process that runs the cluster. */
  readonly pid: number
}

async function startAndDelete(t: TestContext): Promise<Deleted> {
  const cluster = await startSupervised(t, '--simulated-nodes', '1')
  const { pid } = (await readLockHolder(platform, cluster.folder))!
  await rm(cluster.folder, { recursive: true })
  return { ...cluster, pid }
}

test('a cluster whose data folder is deleted ends with a message and code 1', async t => {
  const { folder, errors, ended } = await startAndDelete(t)
  assert.deepEqual(await ended, [1, null])
  assert.match(errors(), new RegExp(`^k8ts: the data folder ${folder} was deleted: stopping$`, 'm'))
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})

test('a cluster that crashes after its data folder was deleted does not begin as an empty one', async t => {
  const { folder, pid, errors, ended } = await startAndDelete(t)
  process.kill(pid, 'SIGKILL')
  assert.deepEqual(await ended, [1, null])
  assert.match(errors(), new RegExp(`^k8ts: the data folder ${folder} was deleted`, 'm'))
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})
