/**
 * The DNS servers of `k8ts up --nodes 2` with real containers: each node answers its own pods, another one does when
 * the server of the node is gone, and the Corefile configures all of them.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import { daemonSets } from '#/api/generated/apps/v1-resources.ts'
import { configMaps, events, nodes, resourceQuotas, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'
import { startTestNameServer, type Say } from './test-name-server.ts'
import { waitUntil } from '../wait-until.ts'

const system = 'kube-system'
const corefileAt = { namespace: system, name: 'coredns' }

const web = 'web.default.svc.cluster.local'

test('the DNS servers of a cluster with two nodes', { skip: containersMissing }, async t => {
  const world = await startWorld(t)
  await t.test('each server is an endpoint with a hint for its node, which answers its own pods', () =>
    checkOwnPods(world),
  )
  await t.test('pods use another server while theirs is no endpoint', () => checkOtherServer(world))
  await t.test('a stub domain of the Corefile is resolved on all nodes', inner => checkCorefile(world, inner))
  await t.test('large answers reach clients through the service over TCP', () => checkLargeAnswer(world))
})

interface World {
  readonly cluster: LastingCluster
  /** Names of the nodes. */
  readonly nodes: readonly [first: string, second: string]
  /** Address of a node. */
  readonly addressOf: (node: string) => string
  /** Resolves a name in the pod of a node. */
  readonly resolve: (node: string, name: string) => Promise<void>
  /** Numbers of queries that the servers of the nodes have answered meanwhile. */
  readonly countQueries: (during: () => Promise<void>) => Promise<readonly number[]>
}

async function startWorld(t: TestContext): Promise<World> {
  const cluster = await LastingCluster.start(t, { flags: ['--nodes', '2'] })
  const { client } = cluster
  const addresses = new Map(
    (await client.list(nodes)).items.map(({ metadata, status }) => {
      return [metadata.name, status?.addresses?.[0]?.address ?? '']
    }),
  )
  const [first = '', second = ''] = [...addresses.keys()].toSorted()
  await client.create(daemonSets, sleepers)
  await client.create(services, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { ports: [{ port: 80 }] },
  })
  const running = await cluster.until(pods => pods.filter(isReady).length === 2)
  const podOn = (node: string): string =>
    running.find(({ spec }) => spec?.nodeName === node)?.metadata.name ?? assert.fail(`no pod on ${node}`)
  const addressOf = (node: string): string => addresses.get(node) ?? ''
  const readCounts = (): Promise<number[]> =>
    Promise.all([first, second].map(node => queriesOf(addressOf(node))))
  return {
    cluster,
    nodes: [first, second],
    addressOf,
    resolve: (node, name) => cluster.exec(podOn(node), ['nslookup', '-type=a', name]),
    countQueries: async during => {
      const before = await readCounts()
      await during()
      return (await readCounts()).map((count, index) => count - before[index]!)
    },
  }
}

async function checkOwnPods({ cluster, nodes: both, resolve, countQueries }: World): Promise<void> {
  await waitUntil(async () => (await hintsOf(cluster)).length === 2)
  assert.deepEqual(await hintsOf(cluster), both)
  for (const [index, node] of both.entries()) {
    await untilResolved(() => resolve(node, web))
    const counts = await countQueries(async () => {
      for (let times = 0; times < 5; times++) await resolve(node, web)
    })
    assert.equal(counts[1 - index], 0)
    assert.ok(counts[index]! >= 5)
  }
}

/** A quota prevents that the server publishes itself again. */
async function checkOtherServer({ cluster, nodes: [, second], resolve, countQueries }: World): Promise<void> {
  const { client } = cluster
  const quota = { namespace: system, name: 'no-more-slices' }
  const hard = { 'count/endpointslices.discovery.k8s.io': '0' }
  await client.create(resourceQuotas, { metadata: quota, spec: { hard } })
  await waitUntil(async () => (await client.get(resourceQuotas, quota)).status?.hard !== undefined)
  await client.delete(endpointSlices, { namespace: system, name: `kube-dns-${second}` })
  await waitUntil(async () => {
    const [other = 0, own = 0] = await countQueries(() => untilResolved(() => resolve(second, web)))
    return other > 0 && own === 0
  })
  await client.delete(resourceQuotas, quota)
  await waitUntil(async () => (await hintsOf(cluster)).length === 2)
  await waitUntil(async () => {
    const [other = 0, own = 0] = await countQueries(() => untilResolved(() => resolve(second, web)))
    return own > 0 && other === 0
  })
}

async function checkCorefile(
  { cluster, nodes: both, addressOf, resolve }: World,
  t: TestContext,
): Promise<void> {
  const { client } = cluster
  const [first, second] = both
  const say: Say = ({ questions: [question] }) => {
    return { answers: [{ ...question!, ttlSeconds: 60, data: [Buffer.from([192, 0, 2, 7])] }] }
  }
  const upstream = await startTestNameServer(t, say, addressOf(first))
  const corefile = `. {
    kubernetes cluster.local in-addr.arpa ip6.arpa {
      pods insecure
      fallthrough in-addr.arpa ip6.arpa
    }
    forward . /etc/resolv.conf
    cache 30
  }
  acme.test {
    forward . ${upstream.host}:${upstream.port}
  }`
  await client.create(configMaps, { metadata: corefileAt, data: { Corefile: corefile } })
  for (const node of both) {
    await untilResolved(() => resolve(node, 'www.acme.test'))
    await resolve(node, web)
  }
  assert.ok(upstream.asked.includes('udp www.acme.test 1'))
  const broken = { metadata: corefileAt, data: { Corefile: '. {\n  autopath @kubernetes\n}' } }
  await client.update(configMaps, broken)
  const fieldSelector = 'involvedObject.name=coredns,reason=InvalidCorefile'
  await waitUntil(async () => {
    const [event] = (await client.list(events, { namespace: system, fieldSelector })).items
    return event?.message?.includes('Corefile line 2: plugin "autopath" is not supported') ?? false
  })
  for (const node of both) await resolve(node, 'www.acme.test')
  await client.delete(configMaps, corefileAt)
  await waitUntil(async () => {
    const asked = upstream.asked.length
    await resolve(second, 'www.acme.test').catch(() => undefined)
    return upstream.asked.length === asked
  })
}

async function checkLargeAnswer({ cluster }: World): Promise<void> {
  const { client } = cluster
  const metadata = { name: 'many', namespace: 'default' }
  await client.create(services, { metadata, spec: { clusterIP: 'None', ports: [{ port: 80 }] } })
  await client.create(endpointSlices, {
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'many' } },
    addressType: 'IPv4',
    endpoints: Array.from({ length: 200 }, (_, index) => ({ addresses: [`192.0.2.${index}`] })),
    ports: [{ port: 80 }],
  })
  const { spec } = await client.get(services, { namespace: system, name: 'kube-dns' })
  const script = `
    const resolver = new (require('node:dns').promises.Resolver)()
    resolver.setServers(['${spec?.clusterIP}'])
    resolver.resolve4('many.default.svc.cluster.local').then(all => console.log(all.length))`
  const namespace = `k8ts${await slotOf(cluster)}-2`
  await waitUntil(async () => {
    const command = ['netns', 'exec', namespace, process.execPath, '-e', script]
    const { stdout } = await promisify(execFile)('ip', command).catch(() => ({ stdout: '' }))
    return stdout.trim() === '200'
  })
}

const sleepers: DaemonSet = {
  metadata: { name: 'sleeper', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'sleeper' } },
    template: {
      metadata: { labels: { app: 'sleeper' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sleep', '100000'] },
        ],
      },
    },
  },
}

/** Nodes that the endpoints of the DNS service are for. */
async function hintsOf({ client }: LastingCluster): Promise<readonly string[]> {
  const labelSelector = 'kubernetes.io/service-name=kube-dns'
  const { items } = await client.list(endpointSlices, { namespace: system, labelSelector })
  const endpoints = items.flatMap(slice => slice.endpoints ?? [])
  return endpoints.flatMap(({ hints }) => hints?.forNodes?.map(({ name }) => name) ?? []).toSorted()
}

async function queriesOf(address: string): Promise<number> {
  const text = await (await fetch(`http://${address}:9153/metrics`)).text()
  const values = text.matchAll(/^coredns_dns_requests_total\{.*\} (\d+)$/gm)
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Rules of the proxy and the state of servers follow after some time. */
async function untilResolved(resolve: () => Promise<void>): Promise<void> {
  await waitUntil(async () => {
    return resolve().then(
      () => true,
      () => false,
    )
  })
}

async function slotOf({ folder }: LastingCluster): Promise<number> {
  return (JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as { readonly slot: number }).slot
}
