/**
 * LoadBalancer services of `k8ts up` with real containers, for another machine: a namespace that is attached to the
 * bridge of the cluster.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { configMaps, events, nodes, pods, services } from '#/api/generated/core/v1-resources.ts'
import { planClusterNetwork, type ClusterNetwork } from '#/network/cluster-network.ts'
import { machineWideName } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'

const namespace = 'default'
const port = 8080

test('load balancer addresses of a cluster of two nodes', { skip: containersMissing }, async t => {
  const cluster = await LastingCluster.start(t, { flags: ['--nodes', '2'] })
  const { client } = cluster
  const { bridge, nodeCidr } = await networkOf(cluster)
  const other = await attachMachine(t, { bridge, address: nodeCidr.replace('.0/', '.100/') })
  const names = (await client.list(nodes)).items.map(({ metadata }) => metadata.name)
  for (const nodeName of names) await client.create(pods, webPod(`web-${nodeName}`, nodeName))
  await cluster.until(all => all.filter(isReady).length === 2)

  await t.test('another machine reaches the address, which an event shows with its node', async () => {
    await client.create(services, serviceOf('web', {}))
    const address = await addressOf(cluster, 'web')
    assert.equal(address, nodeCidr.replace('.0/24', '.128'))
    await waitUntil(async () => (await get(other, `${address}:80`)).includes('200 OK'))
    const assigned = new RegExp(`^announcing ${address} from node "(${names.join('|')})"$`)
    await waitUntil(async () => {
      const { items } = await client.list(events, { namespace })
      return items.some(({ reason, message }) => reason === 'nodeAssigned' && assigned.test(message ?? ''))
    })
  })

  await t.test(
    'with the policy Local the owner has an endpoint, and its health check port says so',
    async () => {
      const [, nodeName = ''] = names
      await client.delete(pods, { namespace, name: `web-${names[0]}` })
      await cluster.until(all => all.length === 1)
      await client.create(services, serviceOf('local', { externalTrafficPolicy: 'Local' }))
      const address = await addressOf(cluster, 'local')
      await waitUntil(async () => (await get(other, `${address}:80`)).includes('200 OK'))
      const assigned = async (): Promise<boolean> => {
        const message = `announcing ${address} from node "${nodeName}"`
        return (await client.list(events, { namespace })).items.some(each => each.message === message)
      }
      await waitUntil(assigned)
      const { spec } = await client.get(services, { namespace, name: 'local' })
      for (const [name, expected] of [
        [nodeName, '200 OK'],
        [names[0], '503 Service Unavailable'],
      ] as const) {
        const node = await client.get(nodes, { name: name! })
        const nodeAddress = node.status?.addresses?.[0]?.address ?? ''
        await waitUntil(async () =>
          (await get(other, `${nodeAddress}:${spec?.healthCheckNodePort}`)).includes(expected),
        )
      }
    },
  )

  await t.test('a pool of a ConfigMap gives addresses outside of the range of the nodes', async () => {
    const data = { extra: 'addresses: [203.0.113.7]\nautoAssign: false' }
    await client.create(configMaps, {
      metadata: { namespace: 'kube-system', name: 'load-balancer-pools' },
      data,
    })
    const annotations = { 'k8ts.io/address-pool': 'extra' }
    const service = serviceOf('extra', {})
    await client.create(services, { ...service, metadata: { ...service.metadata, annotations } })
    assert.equal(await addressOf(cluster, 'extra'), '203.0.113.7')
    await run(['ip', '-netns', other.name, 'route', 'add', '203.0.113.7', 'dev', 'eth0'])
    await waitUntil(async () => (await get(other, '203.0.113.7:80')).includes('200 OK'))
  })

  await t.test('addresses outlive a killed k8ts that starts again', async () => {
    const address = await addressOf(cluster, 'web')
    await cluster.kill()
    assert.match(await get(other, `${address}:80`), /200 OK/)
    await cluster.start()
    await waitUntil(async () => (await get(other, `${address}:80`)).includes('200 OK'))
  })

  await t.test('an orderly stop withdraws all addresses, and k8ts down leaves nothing', async () => {
    await cluster.stop()
    const addresses = await run(['ip', '-o', 'address', 'show'])
    assert.doesNotMatch(addresses, new RegExp(`${bridge} .*/32 `))
    await cluster.down()
    assert.doesNotMatch(await run(['ip', '-o', 'address', 'show']), new RegExp(` ${bridge} `))
  })
})

test(
  'a single node does not announce on its bridge before another machine is attached',
  { skip: containersMissing },
  async t => {
    const cluster = await LastingCluster.start(t)
    const { client } = cluster
    const { bridge, nodeCidr } = await networkOf(cluster)
    const [node] = (await client.list(nodes)).items
    await client.create(pods, webPod('web', node!.metadata.name))
    await cluster.until(all => all.filter(isReady).length === 1)
    await client.create(services, serviceOf('web', {}))
    const address = await addressOf(cluster, 'web')
    // This machine reaches it by the rules of the service proxy.
    await waitUntil(async () => {
      const output = await run([
        'curl',
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        `http://${address}/`,
      ]).catch(String)
      return output === '200'
    })
    const shown = (): Promise<string> => run(['ip', '-o', 'address', 'show', 'dev', bridge])
    assert.doesNotMatch(await shown(), /\/32 /)
    const other = await attachMachine(t, { bridge, address: nodeCidr.replace('.0/', '.100/') })
    await waitUntil(async () => (await get(other, `${address}:80`)).includes('200 OK'))
    assert.match(await shown(), new RegExp(` ${address}/32 `))
    const output = await run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', `http://${address}/`])
    assert.equal(output, '200')
  },
)

async function networkOf({ folder }: LastingCluster): Promise<ClusterNetwork> {
  const { slot } = JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as {
    readonly slot: number
  }
  return planClusterNetwork(slot)
}

interface OtherMachine {
  /** Of its namespace. */
  readonly name: string
}

async function attachMachine(
  t: TestContext,
  { bridge, address }: { readonly bridge: string; readonly address: string },
): Promise<OtherMachine> {
  const name = machineWideName()
  const link = `lb${process.pid}`.slice(0, 15)
  await run(['ip', 'netns', 'add', name])
  t.after(() => run(['ip', 'netns', 'delete', name]))
  await run(['ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
  await run(['ip', 'link', 'set', link, 'master', bridge, 'up'])
  await run(['ip', '-netns', name, 'address', 'add', address, 'dev', 'eth0'])
  await run(['ip', '-netns', name, 'link', 'set', 'eth0', 'up'])
  return { name }
}

/** Output of `curl` in the namespace, with the status line. */
async function get({ name }: OtherMachine, at: string): Promise<string> {
  const command = ['ip', 'netns', 'exec', name, 'curl', '-s', '-i', '--max-time', '5', `http://${at}/`]
  return run(command).catch(String)
}

async function addressOf({ client }: LastingCluster, name: string): Promise<string> {
  let address: string | undefined
  await waitUntil(async () => {
    const { status } = await client.get(services, { namespace, name })
    address = status?.loadBalancer?.ingress?.[0]?.ip
    return address !== undefined
  })
  return address!
}

function serviceOf(name: string, spec: Service['spec']): Service {
  const ports = [{ port: 80, targetPort: port }]
  return {
    metadata: { namespace, name },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports, ...spec },
  }
}

function webPod(name: string, nodeName: string): Pod {
  return {
    metadata: { namespace, name, labels: { app: 'web' } },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: 'busybox',
          imagePullPolicy: 'Never',
          command: ['httpd', '-f', '-p', String(port), '-h', '/var/www'],
          readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
        },
      ],
    },
  }
}

async function run([program = '', ...parameters]: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, parameters)).stdout
}
