/** Encryption at rest: searches for plaintext secrets in the files of the store, and in etcd. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { parseYaml } from '#/api/text/yaml.ts'
import { EtcdCluster, etcdMissing } from '../etcd/cluster.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { KeyServicePlugin } from './key-service.ts'
import { post, stop, up, type Running } from './process.ts'
import { waitUntil } from '../wait-until.ts'

const secrets = '/api/v1/namespaces/default/secrets'
const password = 'correct-horse-battery-staple'
const encoded = Buffer.from(password).toString('base64')

async function create(cluster: Running, name: string): Promise<void> {
  const { status, text } = await post(cluster, secrets, { metadata: { name }, stringData: { password } })
  assert.equal(status, 201, text)
}

async function readsBack(cluster: Running, name: string): Promise<void> {
  const { status, text } = await cluster.ask(`${secrets}/${name}`)
  assert.equal(status, 200, text)
  assert.ok(text.includes(encoded), text)
}

/** The content of all files in the folder, as one string. */
async function contentOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return (await Promise.all(files.map(path => readFile(path, 'latin1')))).join('\n')
}

function showsNoSecret(stored: string): void {
  assert.ok(stored.includes('/registry/secrets/default/'), 'it is the right place to look')
  assert.equal(stored.includes(password), false)
  assert.equal(stored.includes(encoded), false)
}

function configuration(...providers: readonly object[]): string {
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers }],
  })
}

const keyOf = (name: string): object => ({ name, secret: randomBytes(32).toString('base64') })

test('secrets are encrypted in the store file by default', async t => {
  const folder = await temporaryFolder(t)
  const cluster = await up(t, folder)
  await create(cluster, 'a')
  await readsBack(cluster, 'a')
  await stop(cluster, 'SIGTERM')
  const stored = await contentOf(join(folder, 'store'))
  showsNoSecret(stored)
  assert.ok(stored.includes('k8s:enc:aesgcm:v1:key1:'))
})

/** The raw output of `etcdctl get --prefix`. */
function inEtcd(etcd: EtcdCluster): string {
  const command = [`--endpoints=${etcd.endpoints.join(',')}`, 'get', '--prefix', '/registry/secrets/default']
  const env = { PATH: process.env.PATH, ETCDCTL_API: '3' }
  return execFileSync('etcdctl', command, { env, encoding: 'latin1' })
}

test(
  'etcd contains no plaintext secret, and encryption keys can be rotated',
  { skip: etcdMissing },
  async t => {
    await using etcd = await EtcdCluster.startPlain(1)
    const folder = await temporaryFolder(t)
    const [data, path] = [join(folder, 'data'), join(folder, 'keys.yaml')]
    const store = ['--store', `etcd://${etcd.endpoints.join(',')}`]
    const start = (...flags: readonly string[]): Promise<Running> => up(t, data, ...store, ...flags)
    let cluster = await start()
    await create(cluster, 'a')
    await stop(cluster, 'SIGTERM')
    showsNoSecret(inEtcd(etcd))
    // Replaces the cluster's key: secrets are rewritten with the first key of the file.
    const own = await ownKey(data)
    const [old, young] = [keyOf('old'), keyOf('young')]
    const rounds = [
      { first: 'k8s:enc:secretbox:v1:old:', providers: [{ secretbox: { keys: [old] } }, { aesgcm: own }] },
      {
        first: 'k8s:enc:aescbc:v1:young:',
        providers: [{ aescbc: { keys: [young] } }, { secretbox: { keys: [old] } }],
      },
      { first: 'k8s:enc:aescbc:v1:young:', providers: [{ aescbc: { keys: [young] } }] },
    ]
    for (const { first, providers } of rounds) {
      await writeFile(path, configuration(...providers))
      cluster = await start('--encryption-provider-config', path)
      await readsBack(cluster, 'a')
      await waitUntil(() => inEtcd(etcd).includes(first))
      await stop(cluster, 'SIGTERM')
      showsNoSecret(inEtcd(etcd))
      assert.equal(inEtcd(etcd).match(/k8s:enc:/g)?.length, 1)
    }
    // Then disables encryption.
    await writeFile(path, configuration({ identity: {} }, { aescbc: { keys: [young] } }))
    cluster = await start('--encryption-provider-config', path)
    await waitUntil(() => inEtcd(etcd).includes(encoded))
    await stop(cluster, 'SIGTERM')
  },
)

async function ownKey(data: string): Promise<unknown> {
  const file = parseYaml(await readFile(join(data, 'pki', 'encryption.yaml'))) as unknown as OwnConfiguration
  return file.resources[0].providers[0].aesgcm
}

interface OwnConfiguration {
  readonly resources: readonly [{ readonly providers: readonly [{ readonly aesgcm: unknown }] }]
}

test('with a KMS plugin secrets are readable only while the plugin is available', async t => {
  const folder = await temporaryFolder(t)
  const [data, path, socket] = [join(folder, 'data'), join(folder, 'keys.yaml'), join(folder, 'kms.sock')]
  const kms = { apiVersion: 'v2', name: 'plugin', endpoint: `unix://${socket}`, timeout: '3s' }
  await writeFile(path, configuration({ kms }))
  const plugin = await startPlugin(t, socket)
  const flags = ['--encryption-provider-config', path]
  const cluster = await up(t, data, ...flags)
  await create(cluster, 'a')
  await create(cluster, 'b')
  assert.match((await cluster.ask('/healthz?verbose')).text, /^\[\+\]kms-providers ok$/m)
  await stop(cluster, 'SIGTERM')
  const stored = await contentOf(join(data, 'store'))
  showsNoSecret(stored)
  assert.ok(stored.includes('k8s:enc:kms:v2:plugin:'))
  // One data encryption key is used for many values: the plugin is not called for each.
  assert.deepEqual([plugin.calls.Encrypt, plugin.calls.Decrypt], [1, 0])
  const again = await up(t, data, ...flags)
  await readsBack(again, 'a')
  await readsBack(again, 'b')
  assert.equal(plugin.calls.Decrypt, 1)
  await stop(again, 'SIGTERM')
})

async function startPlugin(t: TestContext, socket: string): Promise<KeyServicePlugin> {
  const plugin = await KeyServicePlugin.start(socket)
  t.after(() => plugin[Symbol.asyncDispose]())
  return plugin
}
