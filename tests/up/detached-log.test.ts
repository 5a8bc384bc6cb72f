/** The log of a cluster in the background: a file that stays bounded, and of which nothing is lost. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { script } from './process.ts'
import { waitUntil } from '../wait-until.ts'

const sizeBytesMax = 4 * 1_024 * 1_024

test('the log of a background cluster is rotated when it is full', async t => {
  let folder = ''
  const k8ts = async (...words: readonly string[]): Promise<string> =>
    (await promisify(execFile)(script, [...words, '--data-dir', folder])).stdout
  // Hooks run in the order of their registration: the folder of a running cluster must not be removed.
  t.after(() => k8ts('down'))
  folder = join(await temporaryFolder(t), 'data')
  const path = join(folder, 'k8ts.log')
  const said = await k8ts('up', '--detach', '--simulated-nodes=1', '--store=memory', '--port=0', '-v=4')
  assert.match(said, /^ready in /m)
  assert.match(said, /^running in the background as process \d+, log: /m)
  assert.ok(said.endsWith(`log: ${path}\n`), said)

  await appendFile(path, `${'x'.repeat(sizeBytesMax - 100)}\nthe last line of the first file\n`)
  await createPod(folder)
  const older = await untilRotated(path)
  assert.match(older, /^listening at /m)
  assert.match(older, /^the last line of the first file$/m)
  const { size } = await stat(path)
  assert.ok(size < 1_024 * 1_024, String(size))
})

/** The log then tells how the pod gets on. */
async function createPod(folder: string): Promise<void> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const sources = { environment: {}, workingFolder: '/', explicitPath: join(folder, 'admin.conf') }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  await using transport = await openConnection({ platform, connect: connectHttp, settings })
  const client = clientOf({ platform, transport, userAgent: 'test' })
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'web', image: 'nginx' }] }
  for (;;) {
    try {
      await client.create(pods, { metadata: { name: 'web', namespace: 'default' }, spec })
      return
    } catch (error) {
      // The service account of the namespace may be on its way.
      if (!String(error).includes('serviceaccount')) throw error
      await platform.clock.sleep(100)
    }
  }
}

async function untilRotated(path: string): Promise<string> {
  let older = ''
  await waitUntil(async () => {
    older = await readFile(`${path}.old`, 'utf8').catch(() => '')
    return older !== '' && (await stat(path)).size < sizeBytesMax
  })
  return older
}
