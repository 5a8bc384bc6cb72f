import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import type { Container, PodSpec } from '#/api/generated/core/v1.ts'
import type { ContainerScript } from '#/cri/simulated.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { TestKubelet } from './test-kubelet.ts'

const mebi = 1024 ** 2
const gibi = 1024 ** 3

const image = { images: { i: { isPresent: true }, unused: { isPresent: true, sizeBytes: 10 * gibi } } }

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: 'i', imagePullPolicy: 'IfNotPresent', ...more }
}

function limited(name: string, amount: string): Container {
  return container(name, { resources: { limits: { 'ephemeral-storage': amount } } })
}

async function startNode(
  t: TestContext,
  containers: Readonly<Record<string, ContainerScript>> = {},
  settings: Partial<KubeletConfiguration> = {},
): Promise<TestKubelet> {
  const node = await TestKubelet.start(t, { ...image, containers, settings })
  return node
}

/** Of 8 GiB. */
function setMemory(node: TestKubelet, availableBytes: () => Promise<number>): void {
  setFile(node, '/proc/meminfo', async () => {
    const kibibytes = Math.floor((await availableBytes()) / 1024)
    return `MemTotal: 8388608 kB\nMemFree: ${kibibytes} kB\nInactive(file): 0 kB\n`
  })
}

function setFile({ platform: { files } }: TestKubelet, path: string, content: () => Promise<string>): void {
  const read = files.read.bind(files)
  files.read = async other => (other === path ? Buffer.from(await content()) : read(other))
}

/** Of a disk of 100 GiB. */
function setDisk({ linux }: TestKubelet, availableBytes: () => Promise<number>): void {
  linux.files.space = async () => ({
    totalBytes: 100 * gibi,
    availableBytes: await availableBytes(),
    totalInodes: 1_000,
    freeInodes: 900,
  })
}

/** `MemoryPressure=False DiskPressure=False PIDPressure=False`. */
async function pressuresOf({ plane }: TestKubelet): Promise<string> {
  const { status } = await plane.run(plane.client.get(nodes, { name: 'n1' }))
  const found = (status?.conditions ?? []).filter(({ type }) => type.endsWith('Pressure'))
  return found.map(({ type, status }) => `${type}=${status}`).join(' ')
}

async function nodeEvents({ plane }: TestKubelet): Promise<readonly string[]> {
  const { items } = await plane.run(plane.client.list(events, { namespace: 'default' }))
  return items
    .filter(({ involvedObject }) => involvedObject.kind === 'Node')
    .map(({ reason, message }) => `${reason}: ${message}`)
}

/** Reason, message and condition `DisruptionTarget` of the evicted pod. */
async function evictionOf(node: TestKubelet, name: string): Promise<readonly (string | undefined)[]> {
  const { reason, message, conditions = [] } = (await node.find(name))?.status ?? {}
  const target = conditions.find(({ type }) => type === 'DisruptionTarget')
  assert.equal(target?.message, target && message)
  return [reason, message, target && `${target.status} ${target.reason}`]
}

const quiet = 'MemoryPressure=False DiskPressure=False PIDPressure=False'

test('a pod whose emptyDir exceeds its size limit is evicted, and others are not', async t => {
  const node = await startNode(t)
  const spec: PodSpec = {
    containers: [container('web', { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    volumes: [{ name: 'data', emptyDir: { sizeLimit: '1Mi' } }],
  }
  await node.create('full', spec)
  await node.create('other', spec)
  const uid = (await node.find('full'))?.metadata.uid
  const file = `/node/pods/${uid}/volumes/kubernetes.io~empty-dir/data/file`
  await node.plane.run(node.platform.files.write(file, 'x'.repeat(2 * mebi)))
  await node.advance(13)
  assert.equal(await node.see('full'), 'Failed (Evicted) web=Error:143')
  const message = 'Usage of EmptyDir volume "data" exceeds the limit "1Mi". '
  assert.deepEqual(await evictionOf(node, 'full'), ['Evicted', message, undefined])
  assert.ok((await node.events('full')).includes(`Evicted: ${message}`))
  assert.equal(await node.see('other'), 'Running ready web=running')
  assert.equal(await pressuresOf(node), quiet)
})

test('a pod is evicted when its writable layers and logs exceed its limit', async t => {
  const node = await startNode(t, { hog: { writableLayerBytes: 11 * mebi } })
  await node.create('large', { containers: [limited('hog', '10Mi')] })
  await node.create('free', { containers: [container('hog')] })
  await node.create('logging', { containers: [limited('web', '1Mi')] })
  const { metadata } = (await node.find('logging'))!
  const folder = `/node/logs/pods/default_logging_${metadata.uid}/web`
  await node.plane.run(node.platform.files.write(`${folder}/0.log.old`, 'x'.repeat(2 * mebi)))
  await node.advance(13)
  const over = 'Pod ephemeral local storage usage exceeds the total limit of containers'
  assert.deepEqual(await evictionOf(node, 'large'), ['Evicted', `${over} 10Mi. `, undefined])
  assert.deepEqual(await evictionOf(node, 'logging'), ['Evicted', `${over} 1Mi. `, undefined])
  assert.equal(await node.see('free'), 'Running ready hog=running')
  assert.equal(node.kubelet.metrics.node.evictions.with('ephemeralpodfs.limit').value, 2)
})

test('under memory pressure one pod is evicted at a time, until enough memory is available', async t => {
  const node = await startNode(t, {
    small: { memoryBytes: 10 * mebi },
    large: { memoryBytes: 500 * mebi },
    requested: { memoryBytes: 500 * mebi },
  })
  await node.create('small', { containers: [container('small')] })
  await node.create('large', { containers: [container('large')] })
  const requests = { memory: '1Gi' }
  await node.create('requested', { containers: [container('requested', { resources: { requests } })] })
  setMemory(node, async () => gibi)
  await node.advance(10)
  setMemory(node, async () => {
    const all = await node.runtime.listContainers()
    return all.some(({ name, state }) => name === 'large' && state === 'running') ? 80 * mebi : 4 * gibi
  })
  // Memory is checked more often than every ten seconds when little of it is left.
  await node.advance(3)
  assert.equal(await pressuresOf(node), quiet.replace('MemoryPressure=False', 'MemoryPressure=True'))
  assert.match(await node.see('large'), /^Failed \(Evicted\)/)
  assert.match(await node.see('small'), /^Running ready/)
  const message =
    'The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. ' +
    'Container large was using 500Mi, request is 0, has larger consumption of memory. '
  assert.deepEqual(await evictionOf(node, 'large'), ['Evicted', message, 'True TerminationByKubelet'])
  assert.ok((await nodeEvents(node)).includes('EvictionThresholdMet: Attempting to reclaim memory'))
  await node.advance(60)
  assert.match(await node.see('small'), /^Running ready/)
  assert.match(await node.see('requested'), /^Running ready/)
  await node.create('late', { containers: [container('late')] })
  assert.match(
    (await node.find('late'))?.status?.message ?? '',
    /The node had condition: \[MemoryPressure\]\. $/,
  )
  await node.create('late-requested', { containers: [container('late', { resources: { requests } })] })
  assert.match(await node.see('late-requested'), /^Running ready/)
  await node.advance(300)
  assert.equal(await pressuresOf(node), quiet)
})

test('a runtime that does not answer does not prevent eviction', async t => {
  const node = await startNode(t)
  await node.create('web', { containers: [container('web')] })
  node.runtime.faults.delay('listContainerStats', Infinity)
  setMemory(node, async () => 80 * mebi)
  await node.advance(20)
  const message = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi. '
  assert.deepEqual(await evictionOf(node, 'web'), ['Evicted', message, 'True TerminationByKubelet'])
})

test('under disk pressure dead containers and unused images are removed before pods are evicted', async t => {
  const node = await startNode(t, { web: {}, done: { exitAfterMs: 100 } })
  await node.create('done', { restartPolicy: 'Never', containers: [container('done')] })
  await node.create('web', { containers: [container('web')] })
  // An image is old enough two minutes after its detection.
  await node.advance(430)
  const before = (await node.find('done'))?.status
  assert.equal(await node.runtimeState(), '1/2 done#0 exited web#0 running')
  setDisk(node, async () => ((await node.runtime.listImages()).length > 1 ? 5 : 90) * gibi)
  await node.advance(12)
  assert.equal(await pressuresOf(node), quiet.replace('DiskPressure=False', 'DiskPressure=True'))
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
  assert.deepEqual((await node.find('done'))?.status, before, 'the status of the removed container stays')
  const images = await node.plane.run(node.runtime.listImages())
  assert.deepEqual(
    images.flatMap(({ tags }) => tags),
    ['docker.io/library/i:latest'],
  )
  await node.advance(30)
  assert.match(await node.see('web'), /^Running ready/)
})

test('under disk pressure that persists the pod with the largest usage is evicted, never a critical one', async t => {
  const node = await startNode(t, {
    critical: { writableLayerBytes: 900 * mebi },
    large: { writableLayerBytes: 500 * mebi },
    small: { writableLayerBytes: 5 * mebi },
  })
  await node.create('critical', { priority: 2_000_001_000, containers: [container('critical')] })
  await node.create('small', { containers: [container('small')] })
  await node.create('large', { containers: [container('large')] })
  setDisk(node, async () => 9 * gibi)
  await node.advance(12)
  assert.match(await node.see('large'), /^Failed \(Evicted\)/)
  const [, message, condition] = await evictionOf(node, 'large')
  assert.match(
    message ?? '',
    /^The node was low on resource: ephemeral-storage\. .*: 10Gi, available: 9Gi\. Container large was using 500Mi/,
  )
  assert.equal(condition, 'True TerminationByKubelet')
  await node.advance(40)
  assert.match(await node.see('small'), /^Failed \(Evicted\)/)
  assert.match(await node.see('critical'), /^Running ready/)
})

test('a soft threshold evicts after its grace period, with the grace period of the pod', async t => {
  const node = await startNode(
    t,
    { web: { stopMs: 4_000 } },
    {
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '1m' },
      evictionMaxPodGracePeriod: 60,
    },
  )
  await node.create('web', { containers: [container('web')] })
  setMemory(node, async () => gibi - 1024)
  await node.advance(50)
  assert.match(await node.see('web'), /^Running ready/)
  await node.advance(25)
  assert.equal(await node.see('web'), 'Failed (Evicted) web=Error:143', 'it had time to stop')
})

test('under PID pressure the pod of the lowest priority is evicted', async t => {
  const node = await startNode(t, {}, { evictionHard: { 'pid.available': '10%' } })
  setFile(node, '/proc/sys/kernel/pid_max', async () => '32768\n')
  setFile(node, '/proc/sys/kernel/threads-max', async () => '1000\n')
  await node.create('usual', { containers: [container('web')] })
  await node.create('low', { priority: -1, containers: [container('low')] })
  setFile(node, '/proc/loadavg', async () => {
    const all = await node.runtime.listContainers()
    const isForking = all.some(({ name, state }) => name === 'low' && state === 'running')
    return `0.1 0.2 0.3 2/${isForking ? 950 : 100} 6789\n`
  })
  await node.advance(13)
  const message = 'The node was low on resource: pids. Threshold quantity: 100, available: 50. '
  assert.deepEqual(await evictionOf(node, 'low'), ['Evicted', message, 'True TerminationByKubelet'])
  assert.equal(await pressuresOf(node), quiet.replace('PIDPressure=False', 'PIDPressure=True'))
  await node.advance(30)
  assert.match(await node.see('usual'), /^Running ready/)
})
