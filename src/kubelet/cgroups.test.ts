import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { PodCgroups } from './cgroups.ts'
import { UnifiedTree } from './cgroups/test-unified-tree.ts'
import { kubeletConfiguration } from './kubelet-configuration.ts'
import { kubeletPod } from './testdata/objects.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'

const root = '/sys/fs/cgroup'
const share = { cpuMilli: 4_000, memoryBytes: 8 * 1024 ** 3, pids: -1 }
const half = { cpu: '500m', memory: '64Mi' }
const guaranteed = kubeletPod({
  metadata: { uid: '11' },
  spec: { containers: [{ name: 'c', resources: { requests: half, limits: half } }] },
})

function cgroupsOn(tree: UnifiedTree): PodCgroups {
  const simulation = new Simulation({ seed: 1 })
  return new PodCgroups({
    metrics: new KubeletMetrics(),
    platform: { clock: simulation.clock, files: tree.files },
    linux: { machine: { cgroupVersion: 2 }, files: tree.linuxFiles, run: async () => '' },
    node: kubeletConfiguration({
      name: 'n',
      addresses: [],
      rootDirectory: '/',
      cgroupRoot: '/k8ts-0',
      podPidsMax: 64,
    }),
    hugePageSizes: ['2MB'],
  })
}

test('with cgroup v2 controllers are enabled down the tree and limits are set', async () => {
  const tree = new UnifiedTree(root, ['cpuset', 'cpu', 'io', 'memory', 'hugetlb', 'pids', 'rdma'])
  const cgroups = cgroupsOn(tree)
  await cgroups.start(share)
  const path = await cgroups.ensure(guaranteed)
  const handedOn = 'cpuset cpu io memory hugetlb pids'
  for (const folder of [root, `${root}/k8ts-0`, `${root}/k8ts-0/kubepods`]) {
    assert.equal(tree.content(`${folder}/cgroup.subtree_control`), handedOn, folder)
  }
  const files = {
    'cpu.weight': '20',
    'cpu.max': '50000 100000',
    'memory.max': '67108864',
    'pids.max': '64',
    'hugetlb.2MB.max': '0',
  }
  for (const [file, value] of Object.entries(files))
    assert.equal(tree.content(`${root}${path}/${file}`), value, file)
  assert.equal(tree.content(`${root}/k8ts-0/kubepods/memory.max`), String(8 * 1024 ** 3))
  assert.equal(tree.content(`${root}/k8ts-0/kubepods/cpu.weight`), '157')
  assert.equal(tree.content(`${root}/k8ts-0/kubepods/besteffort/cpu.weight`), '1')
  assert.deepEqual(await cgroups.list(), ['11'])
  await cgroups.remove('11')
  assert.deepEqual(await cgroups.list(), [])
  await cgroups.removeAll()
  assert.deepEqual(tree.folders, [root])
})

test('usage of all pods and of one pod is read from their cgroups', async () => {
  const tree = new UnifiedTree(root, ['cpu', 'memory', 'pids'])
  const cgroups = cgroupsOn(tree)
  await cgroups.start(share)
  const path = await cgroups.ensure(guaranteed)
  const write = tree.linuxFiles.writeInPlace
  await write(`${root}/k8ts-0/kubepods/memory.current`, '1000')
  await write(`${root}/k8ts-0/kubepods/memory.stat`, 'anon 500\ninactive_file 300\nactive_file 200\n')
  await write(`${root}${path}/pids.current`, '7\n')
  assert.deepEqual(await cgroups.memoryOfPods(), { limitBytes: 8 * 1024 ** 3, workingSetBytes: 700 })
  await write(`${root}${path}/memory.current`, '400')
  await write(`${root}${path}/memory.stat`, 'anon 400\n')
  assert.equal(await cgroups.memoryOf(guaranteed), 400)
  assert.equal(await cgroups.processesOf(guaranteed), 7)
})

test('limits of unsupported controllers are skipped', async () => {
  const tree = new UnifiedTree(root, ['cpu', 'memory'])
  const cgroups = cgroupsOn(tree)
  await cgroups.start(share)
  const path = await cgroups.ensure(guaranteed)
  assert.equal(tree.content(`${root}${path}/memory.max`), '67108864')
  assert.equal(tree.content(`${root}${path}/pids.max`), undefined)
})

test('enabling controllers of a cgroup with processes fails with a hint', async () => {
  const tree = new UnifiedTree(root, ['cpu', 'memory'])
  tree.busy.add(root)
  const message = /cgroup \/sys\/fs\/cgroup contains processes, .*: move the processes into a sibling cgroup/
  await assert.rejects(cgroupsOn(tree).start(share), message)
})
