/** `k8ts apiserver` on a full disk and at its space quota. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyDisk, fillDisk, smallDisk, smallDiskMissing } from '../small-disk.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { post, script, stop, up, type Answered, type Running } from './process.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const diskBytes = 48 * 1024 * 1024
const objectBytes = 500 * 1024
/** Space that the store reserves for writes on a full disk. */
const reserveBytes = 4 * 1024 * 1024

test(
  'a full disk is logged, fails readyz and shows in status until there is space',
  {
    skip: smallDiskMissing,
  },
  async t => {
    const disk = await smallDisk(t, diskBytes)
    const folder = join(disk, 'data')
    const server = await up(t, folder)
    assert.equal((await server.ask('/readyz')).status, 200)
    await waitUntil(async () => (await stat(join(folder, 'store', '00000001.log'))).size > reserveBytes)
    await fillDisk(disk)
    const { count, answer } = await fillStore(server)
    assert.ok(count > 0, 'reserved space is used first')
    checkSpaceExceeded(answer)
    await checkAlarm(server)
    assert.match(
      server.output(),
      /ERROR Store alarm raised alarm=NOSPACE reason="the disk of the store is full"/,
    )
    const { status, stdout } = statusOf(folder)
    assert.equal(status, 1)
    assert.match(stdout, /^store alarm NOSPACE: the disk of the store is full$/m)
    await waitUntil(() => /^history: cannot be written: /m.test(statusOf(folder).stdout))
    assert.match((await server.ask('/api/v1/namespaces/default/events')).text, /"reason":"StoreNoSpace"/)

    const deleted = await server.ask(`${configMaps}/filler-0`, { method: 'DELETE' })
    assert.equal(deleted.status, 200)
    await emptyDisk(disk)
    await waitUntil(async () => (await server.ask('/readyz')).status === 200)
    assert.doesNotMatch(statusOf(folder).stdout, /alarm/)
    assert.equal((await post(server, configMaps, configMapOf('after'))).status, 201)
    await stop(server, 'SIGTERM')
  },
)

test('at --quota-backend-bytes objects can be deleted, also after a restart', async t => {
  const folder = await temporaryFolder(t)
  const first = await up(t, folder, '--quota-backend-bytes 3000000')
  const { answer } = await fillStore(first)
  checkSpaceExceeded(answer)
  await checkAlarm(first)
  assert.match((await first.ask('/metrics')).text, /^etcd_server_quota_backend_bytes 3e\+06$/m)
  await stop(first, 'SIGTERM')
  const second = await up(t, folder, '--quota-backend-bytes 3000000')
  checkSpaceExceeded(await post(second, configMaps, configMapOf('more')))
  assert.equal((await second.ask(`${configMaps}/filler-0`, { method: 'DELETE' })).status, 200)
  await stop(second, 'SIGTERM')
  const third = await up(t, folder, '--quota-backend-bytes 0')
  assert.equal((await post(third, configMaps, configMapOf('more'))).status, 201)
  await stop(third, 'SIGTERM')
})

test('the memory store has a quota, too', async t => {
  const server = await up(t, await temporaryFolder(t), '--store memory --quota-backend-bytes 3000000')
  const { answer } = await fillStore(server)
  checkSpaceExceeded(answer)
  await checkAlarm(server)
  assert.match((await server.ask('/metrics')).text, /^etcd_server_quota_backend_bytes 3e\+06$/m)
  assert.equal((await server.ask(`${configMaps}/filler-0`, { method: 'DELETE' })).status, 200)
  await stop(server, 'SIGTERM')
})

function statusOf(folder: string) {
  return spawnSync(script, ['status', '--data-dir', folder], { encoding: 'utf8' })
}

/** Creates ConfigMaps until one is rejected. */
async function fillStore(server: Running): Promise<{ readonly count: number; readonly answer: Answered }> {
  for (let count = 0; ; count++) {
    const answer = await post(server, configMaps, configMapOf(`filler-${count}`))
    if (answer.status !== 201) return { count, answer }
  }
}

function checkSpaceExceeded({ status, text }: Answered): void {
  assert.equal(status, 500)
  const { message, reason } = JSON.parse(text) as { readonly message: string; readonly reason?: string }
  assert.deepEqual([message, reason], ['etcdserver: mvcc: database space exceeded', undefined])
}

async function checkAlarm({ ask }: Running): Promise<void> {
  const ready = await ask('/readyz?verbose')
  assert.equal(ready.status, 500)
  assert.match(ready.text, /^\[-\]etcd-alarm\/nospace failed: reason withheld$/m)
  assert.match(ready.text, /^\[\+\]etcd-alarm\/corrupt ok$/m)
  assert.equal((await ask('/livez')).status, 200)
  assert.match((await ask('/metrics')).text, /^k8ts_store_alarm\{type="NOSPACE"\} 1$/m)
}

function configMapOf(name: string): object {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name },
    data: { text: 'x'.repeat(objectBytes) },
  }
}
