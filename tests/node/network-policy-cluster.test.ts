/** Network policies in a cluster of two nodes with real containers. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { NetworkPolicySpec } from '#/api/generated/networking/v1.ts'
import { networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import { messageOf } from '#/base/message-of.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'
import { waitUntil } from '../wait-until.ts'

const namespace = 'default'

test('network policies between containers of two nodes', { skip: containersMissing }, async t => {
  const cluster = await LastingCluster.start(t, { flags: ['--nodes', '2'] })
  const { client } = cluster
  const { items } = await client.list(nodes)
  const [first = '', second = ''] = items.map(({ metadata }) => metadata.name)
  const serve = ['httpd', '-f', '-p', '80', '-h', '/var/www']
  for (const [name, nodeName] of [
    ['server', first],
    ['near', first],
    ['far', second],
  ] as const)
    await client.create(pods, podOf(name, { nodeName, command: serve }))
  const ready = await cluster.untilReady(['server', 'near', 'far'])
  const address = ready.find(({ metadata }) => metadata.name === 'server')?.status?.podIP ?? ''
  const { reaches, firstConnection, setPolicy } = connectionsTo(address, cluster)

  await t.test('a policy that denies everything ends all connections but those of the node', async () => {
    assert.deepEqual([await reaches('near'), await reaches('far')], [true, true])
    await setPolicy('deny-all', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    await waitUntil(async () => !(await reaches('near')) && !(await reaches('far')))
    // The probes come from the node.
    assert.ok((await cluster.pods()).every(isReady))
  })

  await t.test('a new pod is isolated from its first packet', async () => {
    assert.doesNotMatch(await firstConnection('late', first), /reached/)
    assert.doesNotMatch(await firstConnection('late-far', second), /reached/)
  })

  await t.test('allowed pods reach the server, a new one with its first packet', async () => {
    const server = { matchLabels: { app: 'server' } }
    const clients = { matchExpressions: [{ key: 'app', operator: 'In', values: ['near', 'early'] }] }
    const ports = [{ port: 'http' }]
    await setPolicy('server', { podSelector: server, ingress: [{ from: [{ podSelector: clients }], ports }] })
    await setPolicy('clients', {
      podSelector: clients,
      policyTypes: ['Egress'],
      egress: [{ to: [{ podSelector: server }], ports }],
    })
    await waitUntil(() => reaches('near'))
    assert.equal(await reaches('far'), false)
    assert.equal(await firstConnection('early', first), 'reached\ntried\n')
  })

  await t.test('a policy that allows the DNS pods allows the DNS of another node', async () => {
    const dns = items[0]?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address
    const resolve = ['sh', '-c', `timeout 3 nslookup kubernetes.default.svc.cluster.local ${dns}`]
    await assert.rejects(cluster.exec('far', resolve), /NonZeroExitCode/)
    await setPolicy('dns', {
      podSelector: { matchLabels: { app: 'far' } },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
          ports: [{ port: 53, protocol: 'UDP' }],
        },
      ],
    })
    await waitUntil(() =>
      cluster.exec('far', resolve).then(
        () => true,
        () => false,
      ),
    )
  })

  await t.test('policies stay in force when k8ts is killed, and the next process goes on', async () => {
    await cluster.kill()
    assert.match(await rulesets(), /k8ts\d+-policy/)
    await cluster.start()
    assert.deepEqual([await reaches('near'), await reaches('far')], [true, false])
    for (const name of ['deny-all', 'server', 'clients', 'dns'])
      await cluster.client.delete(networkPolicies, { namespace, name })
    await waitUntil(async () => (await reaches('far')) && !(await hasTables(cluster)))
  })

  await t.test('a stopped cluster leaves no rules', async () => {
    await cluster.client.create(networkPolicies, {
      metadata: { namespace, name: 'deny' },
      spec: { podSelector: {} },
    })
    await waitUntil(() => hasTables(cluster))
    await cluster.stop()
    assert.equal(await hasTables(cluster), false)
  })
})

interface Connections {
  readonly reaches: (pod: string) => Promise<boolean>
  /** The log of a new pod whose first instruction is a connection to the server. */
  readonly firstConnection: (pod: string, nodeName: string) => Promise<string>
  readonly setPolicy: (name: string, spec: NetworkPolicySpec) => Promise<void>
}

function connectionsTo(address: string, cluster: LastingCluster): Connections {
  const reach = `timeout 2 wget -q -O /dev/null http://${address}/index.html`
  /** Repeats what fails because the kubelet has just started. */
  const reaches = async (name: string): Promise<boolean> => {
    const script = `${reach} && exit; [ $? -eq 143 ] && exit 42; exit 1`
    for (let tries = 0; ; tries++) {
      const failure = await cluster.exec(name, ['sh', '-c', script]).then(() => undefined, messageOf)
      if (failure === undefined) return true
      if (failure.includes('exit code 42')) return false
      assert.ok(tries < 300, failure)
      await sleep(200)
    }
  }
  const firstConnection = async (name: string, nodeName: string): Promise<string> => {
    const command = ['sh', '-c', `${reach} && echo reached; echo tried; exec httpd -f -p 80`]
    await cluster.client.create(pods, podOf(name, { nodeName, command }))
    await waitUntil(async () => (await cluster.log(name).catch(() => '')).includes('tried'))
    return cluster.log(name)
  }
  const setPolicy = async (name: string, spec: NetworkPolicySpec): Promise<void> => {
    await cluster.client.create(networkPolicies, { metadata: { namespace, name }, spec })
  }
  return { reaches, firstConnection, setPolicy }
}

function podOf(name: string, { nodeName, command }: { nodeName: string; command: string[] }): Pod {
  return {
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: 'busybox',
          imagePullPolicy: 'Never',
          command,
          ports: [{ name: 'http', containerPort: 80 }],
          readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
        },
      ],
    },
  }
}

async function rulesets(): Promise<string> {
  return (await promisify(execFile)('nft', ['list', 'tables'])).stdout
}

/** On the first node. */
async function hasTables({ folder }: LastingCluster): Promise<boolean> {
  const { slot } = JSON.parse(await readFile(`${folder}/network.json`, 'utf8')) as { readonly slot: number }
  return (await rulesets()).includes(`k8ts${slot}-policy`)
}
