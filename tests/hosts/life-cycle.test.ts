/** A cluster of three control planes and a worker, from `k8ts init` to `k8ts reset`. */
import assert from 'node:assert/strict'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { isTrue } from '#/api/conditions.ts'
import { busyboxImage } from '../node/test-images.ts'
import { HostCluster } from './host-cluster.ts'
import { program, type HostMachine } from './host-machine.ts'
import { hostsMissing } from './hosts-missing.ts'
import { inventoryOf, type Inventory } from './inventory.ts'
import { until } from './until.ts'

const skip = hostsMissing
const roleLabel = 'node-role.kubernetes.io/control-plane'

let stack: AsyncDisposableStack
let cluster: HostCluster
let machines: readonly HostMachine[]
let first: HostMachine
let second: HostMachine
let third: HostMachine
let worker: HostMachine
let inventories: readonly Inventory[]

before(async () => {
  stack = new AsyncDisposableStack()
  if (skip) return
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-hosts-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const shape = { controlPlanes: 3, workers: 1, bridge: 'in-own-namespace' } as const
  cluster = stack.use(await HostCluster.boot({ folder, ...shape }))
  machines = cluster.machines
  ;[first, second, third, worker] = machines as [HostMachine, HostMachine, HostMachine, HostMachine]
  inventories = await Promise.all(machines.map(inventoryOf))
  await cluster.start()
})

after(() => stack.disposeAsync())

test('nodes have the roles, labels and taints of kubeadm', { skip }, async () => {
  // A host has joined when its Node is registered.
  await until(async () => {
    return (await list<Node>(second, 'nodes')).every(({ status }) => isTrue(status?.conditions, 'Ready'))
  })
  const nodes = await list<Node>(second, 'nodes')
  assert.deepEqual(
    nodes.map(({ metadata }) => metadata?.name),
    machines.map(({ name }) => name),
  )
  for (const [index, { metadata, spec }] of nodes.entries()) {
    const isControlPlane = index < 3
    assert.equal(Object.hasOwn(metadata?.labels ?? {}, roleLabel), isControlPlane)
    assert.deepEqual(spec?.taints ?? [], isControlPlane ? [{ key: roleLabel, effect: 'NoSchedule' }] : [])
  }
  const [slice] = await list<EndpointSlice>(second, 'endpointslices', 'kubernetes')
  assert.deepEqual(
    slice?.endpoints?.flatMap(({ addresses }) => addresses).sort(),
    [first, second, third].map(machine => cluster.addressOf(machine)),
  )
})

test('status shows the processes of each host', { skip }, async () => {
  for (const machine of machines) {
    const { code, stdout } = await machine.k8ts('status')
    assert.equal(code, 0, stdout)
    const running = [...stdout.matchAll(/^([a-z-]+): process \d+$/gm)].map(([, name]) => name)
    assert.deepEqual(running, machine === worker ? workerProcesses : controlPlaneProcesses)
  }
})

test('pods on all hosts reach each other, and a Service by its DNS name', { skip }, async () => {
  await deploy(machines)
  const addresses = (await list<Pod>(third, 'pods')).map(({ status }) => status?.podIP ?? '')
  const nodes = new Set((await list<Pod>(third, 'pods')).map(({ spec }) => spec?.nodeName))
  assert.equal(nodes.size, machines.length)
  for (const { metadata } of await list<Pod>(third, 'pods')) {
    const urls = [...addresses.map(address => `${address}:8080`), 'web.default.svc.cluster.local']
    const script = urls.map(url => `timeout 10 wget -q -O - http://${url}`).join(' && ')
    const answers = await second.kubectl('exec', metadata?.name ?? '', '--', 'sh', '-c', script)
    assert.equal(answers.trim().split('\n').length, urls.length)
  }
})

test('a host that is part of the cluster is not initialized or joined again', { skip }, async () => {
  for (const command of [['init'], ['join', '10.77.0.2:6443', '--token', 'abcdef.0123456789abcdef']]) {
    const { code, stderr } = await worker.k8ts(...command, ...(command[0] === 'join' ? unsafe : []))
    assert.equal(code, 1)
    assert.match(stderr, /^k8ts: this host is already part of a cluster, .*: run k8ts reset --force first\n$/)
  }
})

test('hosts that are stopped, and processes that are killed, come back', { skip }, async () => {
  const pods = await podIdentities(first)
  await worker.output(program, 'host', 'stop')
  assert.match((await worker.k8ts('status')).stdout, /are not running: start them with k8ts host start/)
  await worker.output(program, 'host', 'start')
  await untilHealthy(worker)
  const patterns = ['^etcd ', ...k8tsCommands.map(command => `main.[jt]s ${command}`)]
  for (const pattern of patterns) await third.output('pkill', '-KILL', '--full', pattern)
  await untilHealthy(third)
  await third.output('pkill', '-KILL', '--full', 'main.[jt]s host run')
  await untilHealthy(third)
  await until(async () =>
    (await list<Node>(third, 'nodes')).every(node => isTrue(node.status?.conditions, 'Ready')),
  )
  assert.deepEqual(await podIdentities(third), pods, 'containers go on')
})

test('a reset leaves the host as it was, and removes its etcd member', { skip }, async () => {
  for (const [index, machine] of [
    [3, worker],
    [2, third],
  ] as const) {
    await machine.output(program, 'reset', '--force')
    // The kernel removes a network namespace, with its links, after its last process has ended.
    const isAsBefore = async () => isDeepStrictEqual(await inventoryOf(machine), inventories[index])
    await until(isAsBefore).catch(() => undefined)
    assert.deepEqual(await inventoryOf(machine), inventories[index])
  }
  const members = (await first.etcdctl('member', 'list')).trim().split('\n')
  assert.deepEqual(new Set(members.map(line => line.split(', ')[2])), new Set([first.name, second.name]))
  assert.equal(
    (await list<Node>(first, 'nodes')).length,
    machines.length,
    'Nodes are deleted by their administrator',
  )
  await until(async () => {
    const [slice] = await list<EndpointSlice>(first, 'endpointslices', 'kubernetes')
    return slice?.endpoints?.length === 2
  })
})

test('a host joins again after its reset', { skip }, async () => {
  await first.kubectl('delete', 'node', worker.name)
  const [, ...words] = (await first.output(program, 'token', 'create', '--print-join-command'))
    .trim()
    .split(' ')
  await worker.output(program, ...words)
  await untilHealthy(worker)
})

test('a snapshot is restored on another machine', { skip }, async () => {
  await first.kubectl('create', 'secret', 'generic', 'kept', '--from-literal=key=value')
  await first.output(program, 'snapshot', 'save', 'cluster.k8ts')
  await copyFile(join(first.home, 'cluster.k8ts'), join(third.home, 'cluster.k8ts'))
  for (const name of ['ca', 'front-proxy-ca'].flatMap(each => [`${each}.crt`, `${each}.key`]).concat(keys)) {
    await mkdir(join(third.dataFolder, 'pki'), { recursive: true, mode: 0o700 })
    await copyFile(join(first.dataFolder, 'pki', name), join(third.dataFolder, 'pki', name))
  }
  for (const words of [
    ['init', 'phase', 'certs', 'all', '--local-etcd'],
    ['init', 'phase', 'etcd', 'local', '--local-etcd'],
    ['host', 'start'],
    ['snapshot', 'restore', 'cluster.k8ts'],
    ['init', '--local-etcd', '--skip-phases', 'preflight'],
  ])
    await third.output(program, ...words)
  const value = await third.kubectl('get', 'secret', 'kept', '-o', 'jsonpath={.data.key}')
  assert.equal(Buffer.from(value, 'base64').toString(), 'value')
  await until(async () => {
    const nodes = await list<Node>(third, 'nodes')
    return nodes.some(
      ({ metadata, status }) => metadata?.name === third.name && isTrue(status?.conditions, 'Ready'),
    )
  })
})

const keys = ['sa.key', 'sa.pub', 'encryption.yaml']
const workerProcesses = ['kube-proxy', 'kubelet']
const controlPlaneProcesses = [
  'coredns',
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-proxy',
  'kube-scheduler',
  'kubelet',
]
const k8tsCommands = ['dns', 'apiserver', 'controller-manager', 'proxy', 'scheduler', 'kubelet']
const unsafe = ['--discovery-token-unsafe-skip-ca-verification']

async function list<T>(host: HostMachine, ...words: readonly string[]): Promise<readonly T[]> {
  const found = JSON.parse(await host.kubectl('get', ...words, '-o', 'json')) as {
    readonly items?: readonly T[]
  }
  return found.items ?? [found as T]
}

/** Also when their containers were not restarted. */
async function podIdentities(host: HostMachine): Promise<readonly string[]> {
  const pods = await list<Pod>(host, 'pods')
  return pods
    .map(({ metadata, status }) => `${metadata?.uid} ${status?.containerStatuses?.[0]?.containerID}`)
    .sort()
}

/** All processes run, and on a control plane all nodes are ready. */
async function untilHealthy(host: HostMachine): Promise<void> {
  await until(async () => {
    const { code, stdout } = await host.k8ts('status')
    return code === 0 && !stdout.includes('not running')
  })
}

/** A pod on each host. */
async function deploy(machines: readonly HostMachine[]): Promise<void> {
  const image = await busyboxImage()
  for (const machine of machines) {
    await writeFile(join(machine.home, 'busybox.tar'), image)
    await machine.output(program, 'image', 'load', 'busybox.tar')
    await rm(join(machine.home, 'busybox.tar'))
  }
  const labels = { app: 'web' }
  const script = 'mkdir /www; hostname >/www/index.html; exec httpd -f -p 8080 -h /www'
  const container = { name: 'web', image: 'busybox', imagePullPolicy: 'Never', command: ['sh', '-c', script] }
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' }
  const template = {
    metadata: { labels },
    spec: {
      tolerations: [{ operator: 'Exists' }],
      topologySpreadConstraints: [{ ...spread, labelSelector: { matchLabels: labels } }],
      containers: [container],
    },
  }
  const objects = [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: machines.length, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ]
  const [first] = machines
  await writeFile(
    join(first!.home, 'web.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  )
  await first!.kubectl('apply', '-f', 'web.json')
  await first!.kubectl('rollout', 'status', 'deployment/web', '--timeout=120s')
}
