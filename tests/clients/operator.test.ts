/** An operator as a process of its own, which finds its cluster in the environment. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { waitUntil } from '../wait-until.ts'
import { clusterForFile } from './cluster.ts'

const root = resolve(import.meta.dirname, '../..')

/** Copies each ConfigMap in `default` to a Secret. */
const script = `
  import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
  import { defineController } from '#/controllers/define-controller.ts'
  import { runOperator } from '#/operator/operator.ts'

  const copier = defineController({
    name: 'copier',
    namespace: 'default',
    resource: configMaps,
    reconcile: async ({ object: { metadata: { namespace, name }, data }, client }) => {
      const secret = { metadata: { namespace, name }, stringData: data }
      await client.apply(secrets, secret, { fieldManager: 'copier' })
    },
  })
  await runOperator({ name: 'copier', controllers: [copier], listen: { host: '127.0.0.1', port: 0 } })
`

const parameters = ['--input-type=module-typescript', '--eval', script]

test('an operator runs against the cluster of KUBECONFIG until SIGTERM', async t => {
  const cluster = await clusterForFile()
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig }
  const child = spawn(process.execPath, parameters, { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', piece => (output += String(piece)))
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const sources = { environment: env, workingFolder: root }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  await using transport = await openConnection({ platform, connect: connectHttp, settings })
  const client = clientOf({ platform, transport, userAgent: 'test' })

  const at = { namespace: 'default', name: 'settings' }
  await client.create(configMaps, { metadata: at, data: { color: 'blue' } })
  await waitUntil(async () => (await client.find(secrets, at)) !== undefined)
  assert.deepEqual((await client.get(secrets, at)).data, { color: btoa('blue') })
  assert.match(output, /Serving health, metrics and webhooks host=127\.0\.0\.1 port=\d+/)
  const lease = { namespace: 'default', name: 'copier' }
  assert.ok((await client.get(leases, lease)).spec?.holderIdentity)

  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [0, null], output)
  assert.equal((await client.get(leases, lease)).spec?.holderIdentity, '')
})

test('an operator without a cluster reports what to do', async () => {
  const { KUBECONFIG: _kubeconfig, KUBERNETES_SERVICE_HOST: _host, ...others } = process.env
  const env = { ...others, HOME: '/nonexistent' }
  const failing = promisify(execFile)(process.execPath, parameters, { cwd: root, env })
  await assert.rejects(
    failing,
    /no cluster is configured: set KUBECONFIG, or run in a pod with a service account/,
  )
})
