/** The example operator with real etcd in real containers. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import { isTrue } from '#/api/conditions.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import type { Client } from '#/client/client.ts'
import type { TarEntry } from '#/base/tar.ts'
import { runOperator } from '#/operator/operator.ts'
import { connectHttp, nodeCrypto, nodePlatform, serveHttp } from '#/platform/node.ts'
import { httpEtcdClient } from '../../examples/etcd-operator/etcd-client.ts'
import { etcdClusters, type EtcdCluster } from '../../examples/etcd-operator/etcd-cluster.ts'
import { etcdOperator } from '../../examples/etcd-operator/etcd-controller.ts'
import { endpointOf, isMemberPod } from '../../examples/etcd-operator/member-pod.ts'
import { waitUntil } from '../wait-until.ts'
import { program } from './container-cluster.ts'
import { LastingCluster } from './lasting-cluster.ts'
import { testImage } from './test-images.ts'

const image = 'docker.io/library/etcd:3.4'
const at = { namespace: 'default', name: 'db' }

test('a cluster is bootstrapped, scaled, repaired, backed up and restored', async t => {
  const cluster = await LastingCluster.start(t)
  const { client } = cluster
  await loadEtcd(cluster.folder)
  await defineEtcdClusters(client)
  await createClaim(client)
  await using _operator = startOperator(client)
  const spec = { size: 3, image, memberTimeoutSeconds: 20 }
  const backup = { claimName: 'backups', intervalSeconds: 10, retained: 2 }

  await client.create(etcdClusters, { metadata: at, spec })
  await untilSize(client, 3)
  await write(client, 'color', 'blue')

  const victim = (await memberPods(client))[0]!
  await client.delete(pods, victim.metadata, { gracePeriodSeconds: 0 })
  await waitUntil(
    async () => !(await statusOf(client)).members?.some(({ name }) => name === victim.metadata.name),
  )
  await untilSize(client, 3)
  assert.equal(await read(client, 'color'), 'blue')

  await client.patch(
    etcdClusters,
    { ...at, subresource: 'scale' },
    { type: 'merge', patch: { spec: { replicas: 1 } } },
  )
  await untilSize(client, 1)
  await client.patch(etcdClusters, at, { type: 'merge', patch: { spec: { backup } } })
  await waitUntil(async () => (await statusOf(client)).backup !== undefined)
  const { file } = (await statusOf(client)).backup!
  await client.delete(etcdClusters, at)
  await waitUntil(async () => (await memberPods(client)).length === 0)

  await client.create(etcdClusters, {
    metadata: at,
    spec: { ...spec, size: 1, restore: { claimName: 'backups', file } },
  })
  await untilSize(client, 1)
  assert.equal(await read(client, 'color'), 'blue')
})

function startOperator(client: Client): AsyncDisposable {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const stopping = new AbortController()
  const operator = { ...etcdOperator(httpEtcdClient(connectHttp)), listen: { host: '127.0.0.1', port: 0 } }
  const machine = { serveHttp, crypto: nodeCrypto() }
  const running = runOperator(operator, { client, platform, machine, signal: stopping.signal })
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}

/** An image with the programs of the machine, and the libraries that they need. */
async function loadEtcd(folder: string): Promise<void> {
  const { stdout } = await promisify(execFile)('ldd', ['/usr/bin/etcd', '/usr/bin/etcdctl'])
  const libraries = [...stdout.matchAll(/\/\S+\.so\S*/g)].map(([path]) => path)
  const paths = ['/usr/bin/etcd', '/usr/bin/etcdctl', ...new Set(libraries)]
  const files = await Promise.all(
    paths.map(async (path): Promise<TarEntry> => {
      return { type: 'file', path: path.slice(1), mode: 0o755, content: await readFile(path) }
    }),
  )
  const archive = join(folder, 'etcd.tar')
  await writeFile(archive, await testImage({ reference: image, files }))
  await promisify(execFile)(program, ['image', 'load', archive, '--data-dir', folder])
  await rm(archive)
}

async function defineEtcdClusters(client: Client): Promise<void> {
  const path = new URL('../../examples/etcd-operator/manifests/crd.yaml', import.meta.url)
  const definition = parseYaml(await readFile(path, 'utf8')) as unknown as CustomResourceDefinition
  const { name } = (await client.create(customResourceDefinitions, definition)).metadata
  await waitUntil(async () => {
    return isTrue((await client.get(customResourceDefinitions, { name })).status?.conditions, 'Established')
  })
}

async function createClaim(client: Client): Promise<void> {
  await client.create(persistentVolumeClaims, {
    metadata: { namespace: 'default', name: 'backups' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
}

async function statusOf(client: Client): Promise<NonNullable<EtcdCluster['status']>> {
  return (await client.get(etcdClusters, at)).status ?? {}
}

async function memberPods(client: Client) {
  return (await client.list(pods, { namespace: 'default' })).items.filter(isMemberPod)
}

/** The members of etcd and the pods are as many as wanted. */
async function untilSize(client: Client, size: number): Promise<void> {
  await waitUntil(async () => {
    const { size: voters, readyMembers, members } = await statusOf(client)
    const counts = [voters, readyMembers, members?.length, (await memberPods(client)).length]
    return counts.every(count => count === size)
  })
}

async function write(client: Client, key: string, value: string): Promise<void> {
  await request(client, 'put', { key: btoa(key), value: btoa(value) })
}

async function read(client: Client, key: string): Promise<string> {
  const { kvs } = (await request(client, 'range', { key: btoa(key) })) as {
    kvs?: readonly { value: string }[]
  }
  return atob(kvs?.[0]?.value ?? '')
}

async function request(client: Client, method: string, body: object): Promise<unknown> {
  const [pod] = await memberPods(client)
  const response = await fetch(`${endpointOf(pod!)}/v3/kv/${method}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200)
  return response.json()
}
