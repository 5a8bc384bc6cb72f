/** The data folder of a cluster with running containers is deleted. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { nodeCgroup, nodeFolders } from '#/cluster/node-folders.ts'
import { nodeProcesses } from '#/cluster/node-processes.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { adminClient, post } from '../up/process.ts'
import { startSupervised } from '../up/supervised-cluster.ts'
import { waitUntil } from '../wait-until.ts'
import { loadImages } from './container-cluster.ts'

test('a cluster whose data folder is deleted ends with code 1 and stops its containers', async t => {
  const { folder, errors, ended } = await startSupervised(t, '--runtime', 'containerd')
  const { slot } = JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as { slot: number }
  await loadImages(folder)
  const client = await adminClient(folder)
  const container = { name: 'it', image: 'busybox', command: ['sleep', '1000'], imagePullPolicy: 'Never' }
  const pod = { metadata: { name: 'it' }, spec: { containers: [container] } }
  const pods = '/api/v1/namespaces/default/pods'
  assert.equal((await post(client, pods, pod)).status, 201)
  await waitUntil(async () => (await client.ask(`${pods}/it`)).text.includes('"phase":"Running"'))
  const running = async () => {
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const { containerdSocket } = nodeFolders(folder)
    const options = { platform, linux: await nodeLinux(), cgroupRoot: nodeCgroup(slot), containerdSocket }
    return nodeProcesses(options)
  }
  assert.ok((await running()).containers.length > 0)

  // Mounts of the containers stay.
  await promisify(execFile)('rm', ['-rf', '--one-file-system', folder]).catch(() => undefined)
  assert.deepEqual(await ended, [1, null])
  assert.match(errors(), new RegExp(`^k8ts: the data folder ${folder} was deleted: stopping$`, 'm'))
  assert.deepEqual(await running(), { containers: [], shims: [] })
  assert.equal((await readFile('/proc/mounts', 'utf8')).includes(folder), false)
  await assert.rejects(stat(folder), { code: 'ENOENT' })
})
