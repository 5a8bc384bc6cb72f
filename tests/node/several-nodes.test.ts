/**
 * `k8ts up --nodes 2` with real containers: pods on both nodes reach each other and services, nodes are added and
 * removed, a crash leaves the pods running, and nothing is left on the machine.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { daemonSets } from '#/api/generated/apps/v1-resources.ts'
import { nodes, pods, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { loadImages, program } from './container-cluster.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'

const namespace = 'default'

test('a cluster with two nodes on one machine', { skip: containersMissing }, async t => {
  const cluster = await LastingCluster.start(t, { flags: ['--nodes', '2'] })
  const [first = '', second = ''] = await nodeNames(cluster)
  await cluster.client.create(daemonSets, webDaemonSet)
  await cluster.client.create(services, {
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  await podOn(cluster, first)

  await t.test('the first node has the role control-plane', async () => {
    const labelled = await cluster.client.list(nodes, {
      labelSelector: 'node-role.kubernetes.io/control-plane',
    })
    assert.deepEqual(
      labelled.items.map(({ metadata }) => metadata.name),
      [first],
    )
  })

  await t.test(
    'pods of different nodes reach each other with their own addresses, and services',
    async () => {
      const [one, other] = [await podOn(cluster, first), await podOn(cluster, second)]
      for (const [from, to] of [
        [one, other],
        [other, one],
      ] as const) {
        const page = `http://${to.status?.podIP}/index.html`
        await cluster.exec(nameOf(from), ['wget', '-q', '-O', '/dev/null', page])
        assert.match(await cluster.log(nameOf(to)), new RegExp(`${from.status?.podIP}\\D.*index.html`))
        await cluster.exec(nameOf(from), ['wget', '-q', '-O', '/dev/null', 'http://web'])
      }
    },
  )

  await t.test('a node port of one node leads to a host network pod on the node of the client', async () => {
    const { client } = cluster
    await client.create(pods, hostWebPod(second))
    const { spec } = await client.create(services, {
      metadata: { name: 'host-web', namespace },
      spec: { type: 'NodePort', selector: { app: 'host-web' }, ports: [{ port: hostWebPort }] },
    })
    await cluster.until(all => all.some(pod => nameOf(pod) === 'host-web' && isReady(pod)))
    const from = await podOn(cluster, second)
    const { status } = await client.get(nodes, { name: first })
    const url = `http://${status?.addresses?.[0]?.address}:${spec?.ports?.[0]?.nodePort}/index.html`
    // Rules of the proxy may be some time behind the readiness of the pod.
    const script = `until timeout 1 wget -q -O /dev/null ${url}; do sleep 0.1; done`
    await cluster.exec(nameOf(from), ['sh', '-c', script])
    await client.delete(pods, { name: 'host-web', namespace })
    await cluster.until(all => all.every(pod => nameOf(pod) !== 'host-web'))
  })

  await t.test('pods of all nodes keep running when k8ts is killed', async () => {
    const before = (await cluster.pods()).map(containerOf)
    await cluster.kill()
    await cluster.start()
    await podOn(cluster, second)
    assert.deepEqual((await cluster.pods()).map(containerOf), before)
  })

  await t.test('a node is added while the cluster runs, and removed without traces', async () => {
    const before = await namespacesOf(cluster)
    await k8ts(cluster, ['node', 'add', 'extra'])
    await loadImages(cluster.folder)
    await podOn(cluster, 'extra')
    assert.equal((await namespacesOf(cluster)).length, before.length + 1)
    await k8ts(cluster, ['node', 'remove', 'extra'])
    assert.deepEqual(await nodeNames(cluster), [first, second])
    assert.deepEqual(await namespacesOf(cluster), before)
    const slices = (await cluster.client.list(endpointSlices, { namespace: 'kube-system' })).items
    assert.ok(slices.every(({ metadata }) => metadata.name !== 'kube-dns-extra'))
  })

  await t.test('k8ts down removes all nodes from the machine', async () => {
    const slot = await slotOf(cluster)
    await cluster.stop()
    await cluster.down()
    for (const command of [
      ['ip', 'netns', 'list'],
      ['ip', '-o', 'link'],
      ['sh', '-c', 'ls -d /sys/fs/cgroup/k8ts* /sys/fs/cgroup/*/k8ts* || true'],
      ['cat', '/proc/self/mounts'],
    ]) {
      const output = await run(command)
      assert.doesNotMatch(output, new RegExp(`k8ts-?${slot}(-|n|:|$)`, 'm'))
      assert.ok(!output.includes(cluster.folder))
    }
  })
})

/** Logs requests with the address of the client. */
const webDaemonSet: DaemonSet = {
  metadata: { name: 'web', namespace },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: 'busybox',
            imagePullPolicy: 'Never',
            command: ['httpd', '-f', '-vv', '-p', '80', '-h', '/var/www'],
            readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
}

const hostWebPort = 18_085

function hostWebPod(nodeName: string): Pod {
  const spec = webDaemonSet.spec!.template.spec!
  const command = ['httpd', '-f', '-p', String(hostWebPort), '-h', '/var/www']
  const readinessProbe = { tcpSocket: { port: hostWebPort }, periodSeconds: 1 }
  return {
    metadata: { name: 'host-web', namespace, labels: { app: 'host-web' } },
    spec: {
      ...spec,
      nodeName,
      hostNetwork: true,
      containers: spec.containers.map(container => ({ ...container, command, readinessProbe })),
    },
  }
}

async function nodeNames(cluster: LastingCluster): Promise<readonly string[]> {
  return (await cluster.client.list(nodes)).items.map(({ metadata }) => metadata.name).toSorted()
}

/** Waits until the pod of the DaemonSet on this node is ready. */
async function podOn(cluster: LastingCluster, node: string): Promise<Pod> {
  const isThere = (pod: Pod): boolean => pod.spec?.nodeName === node && isReady(pod)
  return (await cluster.until(all => all.some(isThere))).find(isThere)!
}

function nameOf({ metadata }: Pod): string {
  return metadata.name ?? ''
}

function containerOf({ status }: Pod): string | undefined {
  return status?.containerStatuses?.[0]?.containerID
}

/** Network namespaces of the further nodes. */
async function namespacesOf(cluster: LastingCluster): Promise<readonly string[]> {
  const slot = await slotOf(cluster)
  const lines = (await run(['ip', 'netns', 'list'])).split('\n')
  return lines.flatMap(line => line.split(' ')[0] ?? []).filter(name => name.startsWith(`k8ts${slot}-`))
}

async function slotOf({ folder }: LastingCluster): Promise<number> {
  return (JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as { readonly slot: number }).slot
}

async function k8ts({ folder }: LastingCluster, words: readonly string[]): Promise<void> {
  await run([program, ...words, '--data-dir', folder])
}

async function run([name = '', ...parameters]: readonly string[]): Promise<string> {
  return (await promisify(execFile)(name, parameters)).stdout
}
