/** Pod cgroups on this machine's kernel, below a separate root. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ResourceRequirements } from '#/api/generated/core/v1.ts'
import { PodCgroups } from '#/kubelet/cgroups.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { nodeAllocatableLimits, readMachineInfo, type MachineInfo } from '#/kubelet/machine-info.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'
import { machineWideName } from '../temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const linux = await nodeLinux()
const { cgroupVersion } = linux.machine
const skip = linux.machine.isRoot ? false : 'control groups are made by root'

/** The mount point of a controller's hierarchy. */
const folderOf = (controller: string): string => {
  return cgroupVersion === 2 ? '/sys/fs/cgroup' : join('/sys/fs/cgroup', controller)
}

interface Subject {
  readonly cgroups: PodCgroups
  readonly node: KubeletConfiguration
  readonly machine: MachineInfo
  /** The content of a cgroup file, by its v1 and v2 name. */
  readonly read: (path: string, version1: string, version2: string) => Promise<string>
}

async function start(t: TestContext): Promise<Subject> {
  const cgroupRoot = `/${machineWideName()}`
  const node = kubeletConfiguration({
    name: 'n',
    addresses: [],
    rootDirectory: '/tmp',
    cgroupRoot,
    podPidsMax: 500,
  })
  const machine = await readMachineInfo({ platform, linux, node })
  const { hugePageSizes } = machine
  const cgroups = new PodCgroups({ metrics: new KubeletMetrics(), platform, linux, node, hugePageSizes })
  t.after(async () => {
    await cgroups.removeAll()
    assert.deepEqual(await leftovers(cgroupRoot), [], 'nothing is left')
  })
  await cgroups.start(nodeAllocatableLimits(machine, node))
  const read: Subject['read'] = async (path, version1, version2) => {
    const file = cgroupVersion === 1 ? version1 : version2
    const controller = version1.split('.')[0] ?? ''
    return (await readFile(join(folderOf(controller), path, file), 'utf8')).trim()
  }
  return { cgroups, node, machine, read }
}

async function leftovers(root: string): Promise<readonly string[]> {
  const hierarchies = cgroupVersion === 2 ? ['.'] : await readdir('/sys/fs/cgroup')
  const found: string[] = []
  for (const hierarchy of hierarchies) {
    const folder = join('/sys/fs/cgroup', hierarchy, root)
    if (await exists(folder)) found.push(folder)
  }
  return found
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function podOf(uid: string, resources: ResourceRequirements): KubeletPod {
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { containers: [{ name: 'c', resources }] },
  }
}

const half = { cpu: '500m', memory: '64Mi' }
const guaranteed = podOf('11', { requests: half, limits: half })
const burstable = podOf('22', { requests: { cpu: '250m' } })
const bestEffort = podOf('33', {})

test('pod cgroups are created by QoS class with their limits, and accept processes', { skip }, async t => {
  const { cgroups, node, machine, read } = await start(t)
  const path = await cgroups.ensure(guaranteed)
  assert.equal(path, `${node.cgroupRoot}/kubepods/pod11`)
  assert.equal(await read(path, 'memory.limit_in_bytes', 'memory.max'), String(64 * 1024 ** 2))
  assert.equal(
    await read(path, 'cpu.cfs_quota_us', 'cpu.max'),
    cgroupVersion === 1 ? '50000' : '50000 100000',
  )
  assert.equal(await read(path, 'pids.max', 'pids.max'), '500')
  assert.equal(
    await read(await cgroups.ensure(burstable), 'cpu.shares', 'cpu.weight'),
    cgroupVersion === 1 ? '256' : '10',
  )
  assert.equal(await cgroups.ensure(bestEffort), `${node.cgroupRoot}/kubepods/besteffort/pod33`)
  await cgroups.updateQosCgroups([guaranteed, burstable, bestEffort])
  const classPath = `${node.cgroupRoot}/kubepods/burstable`
  assert.equal(await read(classPath, 'cpu.shares', 'cpu.weight'), cgroupVersion === 1 ? '256' : '10')
  const all = await read(`${node.cgroupRoot}/kubepods`, 'memory.limit_in_bytes', 'memory.max')
  assert.ok(Math.abs(Number(all) - machine.memoryBytes) < 1024 ** 2, 'all pods together have what there is')
  assert.deepEqual(await cgroups.list(), ['11', '22', '33'])

  const child = spawn('sleep', ['1000'])
  t.after(() => child.kill('SIGKILL'))
  for (const controller of cgroupVersion === 2 ? ['cpu'] : ['cpu', 'cpuset', 'memory', 'pids']) {
    await writeFile(join(folderOf(controller), path, 'cgroup.procs'), String(child.pid))
  }
  const ended = once(child, 'exit')
  await cgroups.remove('11')
  const [, signal] = (await ended) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL', 'what still ran was ended')
  assert.deepEqual(await cgroups.list(), ['22', '33'])
})

test('existing pod cgroups are adopted, and changed limits are updated', { skip }, async t => {
  const { cgroups, node, machine, read } = await start(t)
  const path = await cgroups.ensure(guaranteed)
  const again = new PodCgroups({
    metrics: new KubeletMetrics(),
    platform,
    linux,
    node,
    hugePageSizes: machine.hugePageSizes,
  })
  await again.start(nodeAllocatableLimits(machine, node))
  assert.deepEqual(await again.list(), ['11'])
  const larger = { cpu: '500m', memory: '128Mi' }
  await again.ensure(podOf('11', { requests: larger, limits: larger }))
  assert.equal(await read(path, 'memory.limit_in_bytes', 'memory.max'), String(128 * 1024 ** 2))
  await again.remove('11')
  await again.ensure(guaranteed)
  assert.equal(await read(path, 'memory.limit_in_bytes', 'memory.max'), String(64 * 1024 ** 2), 'made again')
})

test(
  'killing a pod cgroup kills its processes and those of child cgroups, and keeps the cgroup',
  { skip },
  async t => {
    const { cgroups, node } = await start(t)
    const path = await cgroups.ensure(bestEffort)
    const below = join(folderOf('pids'), path, 'container')
    await mkdir(below)
    const child = spawn('sleep', ['1000'])
    t.after(() => child.kill('SIGKILL'))
    await writeFile(join(below, 'cgroup.procs'), String(child.pid))
    const ended = once(child, 'exit')
    await cgroups.killProcesses('22')
    assert.equal(child.signalCode, null, 'another pod is left alone')
    await cgroups.killProcesses('33')
    const [, signal] = (await ended) as [number | null, string | null]
    assert.equal(signal, 'SIGKILL')
    assert.deepEqual(await cgroups.list(), ['33'])
    assert.equal(path, `${node.cgroupRoot}/kubepods/besteffort/pod33`)
  },
)

test('removing a pod cgroup removes child cgroups, and removing it again succeeds', { skip }, async t => {
  const { cgroups } = await start(t)
  const path = await cgroups.ensure(burstable)
  await mkdir(join(folderOf('memory'), path, 'container/nested'), { recursive: true })
  await cgroups.remove('22')
  assert.equal(await exists(join(folderOf('memory'), path)), false)
  await cgroups.remove('22')
  await cgroups.remove('never-there')
  await assert.rejects(cgroups.remove('../..'), { name: 'AssertionError' })
  assert.deepEqual(await cgroups.list(), [])
})

test('many pod cgroups are created and removed concurrently', { skip }, async t => {
  const { cgroups } = await start(t)
  const pods = Array.from({ length: 30 }, (_, index) =>
    podOf(`many-${index}`, index % 2 ? { requests: half } : {}),
  )
  await Promise.all(pods.map(pod => cgroups.ensure(pod)))
  assert.equal((await cgroups.list()).length, 30)
  await Promise.all(pods.map(pod => cgroups.remove(pod.metadata.uid)))
  assert.deepEqual(await cgroups.list(), [])
})

const unifiedFolder = '/sys/fs/cgroup/unified'
const noUnified = (await exists(join(unifiedFolder, 'cgroup.controllers')))
  ? skip
  : 'there is no tree of version 2 beside'

test('with cgroup v2 pod cgroups are created, killed and removed', { skip: noUnified }, async t => {
  const cgroupRoot = `/${machineWideName()}`
  const node = kubeletConfiguration({ name: 'n', addresses: [], rootDirectory: '/tmp', cgroupRoot })
  const asVersion2 = { ...linux, machine: { ...linux.machine, cgroupVersion: 2 as const } }
  const cgroups = new PodCgroups({
    metrics: new KubeletMetrics(),
    platform,
    linux: asVersion2,
    node,
    hugePageSizes: [],
    unifiedFolder,
  })
  t.after(async () => {
    await cgroups.removeAll()
    assert.equal(await exists(join(unifiedFolder, cgroupRoot)), false, 'nothing is left')
  })
  await cgroups.start({ cpuMilli: 1_000, memoryBytes: 1024 ** 3, pids: -1 })
  const path = await cgroups.ensure(guaranteed)
  const child = spawn('sleep', ['1000'])
  t.after(() => child.kill('SIGKILL'))
  await writeFile(join(unifiedFolder, path, 'cgroup.procs'), String(child.pid))
  const ended = once(child, 'exit')
  await cgroups.remove('11')
  const [, signal] = (await ended) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL')
  assert.deepEqual(await cgroups.list(), [])
})
