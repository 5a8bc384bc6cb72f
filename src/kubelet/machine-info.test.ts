import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { nodeAllocatableLimits, readMachineInfo, type MachineInfo } from './machine-info.ts'
import { kubeletConfiguration } from './kubelet-configuration.ts'
import { hostInfo } from './testdata/host-info.ts'

const gibi = 1024 ** 3
const node = kubeletConfiguration({
  name: 'n',
  addresses: [],
  rootDirectory: '/node',
  cgroupRoot: '/',
  systemReserved: { cpu: '500m', memory: '1Gi', pid: '1000' },
})

/** Facts about a machine with these files. */
async function found(files: Readonly<Record<string, string>>, cgroupVersion: 1 | 2): Promise<MachineInfo> {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('machine')
  const space = async (): Promise<{
    totalBytes: number
    availableBytes: number
    totalInodes: number
    freeInodes: number
  }> => {
    return { totalBytes: 10 * gibi, availableBytes: gibi, totalInodes: 1, freeInodes: 1 }
  }
  const read = async (): Promise<MachineInfo> => {
    for (const [path, content] of Object.entries(files)) {
      await platform.files.makeFolder(path.slice(0, path.lastIndexOf('/')))
      await platform.files.write(path, content)
    }
    const linux = { machine: { ...hostInfo, cgroupVersion }, files: { space } }
    return readMachineInfo({ platform, linux, node })
  }
  return simulation.run(read())
}

test('machine info of a minimal machine is read', async () => {
  const machine = await found({}, 1)
  assert.deepEqual(
    [machine.canLimitSwap, machine.hugePageSizes, machine.maskedPaths, machine.cgroupVersion],
    [false, [], [], 1],
  )
  assert.deepEqual(machine.capacity, {
    'cpu': '4',
    'ephemeral-storage': '10Gi',
    'memory': '8Gi',
    'pods': '110',
  })
  assert.equal(machine.allocatable['cpu'], '3500m')
})

test('huge pages, thermal throttle paths and swap accounting are found', async () => {
  const common = {
    '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '1\n',
    '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '512\n',
    '/sys/devices/system/cpu/cpu0/thermal_throttle/count': '0',
    '/sys/devices/system/cpu/cpu1/topology/id': '0',
    '/sys/devices/system/cpu/cpufreq/thermal_throttle/count': '0',
  }
  const first = await found({ ...common, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '0' }, 1)
  assert.deepEqual(first.hugePageSizes, ['2MB', '1GB'])
  assert.deepEqual(first.maskedPaths, ['/sys/devices/system/cpu/cpu0/thermal_throttle'])
  assert.equal(first.canLimitSwap, true)
  assert.equal(first.capacity['hugepages-2Mi'], '1Gi')
  assert.equal(first.capacity['hugepages-1Gi'], '1Gi')
  assert.equal(first.allocatable['memory'], '5020Mi')
  const own = { '/proc/self/cgroup': '0::/system.slice/k8ts\n' }
  assert.equal((await found(own, 2)).canLimitSwap, false)
  const swap = { ...own, '/sys/fs/cgroup/system.slice/k8ts/memory.swap.max': 'max' }
  assert.equal((await found(swap, 2)).canLimitSwap, true)
})

test('allocatable limits are capacity minus reservations', async () => {
  const kernel = { '/proc/sys/kernel/pid_max': '4194304\n', '/proc/sys/kernel/threads-max': '60005\n' }
  const machine = await found(kernel, 2)
  const share = nodeAllocatableLimits(machine, node)
  assert.deepEqual(share, { cpuMilli: 3_500, memoryBytes: 7 * gibi, pids: 59_005 })
  const pidsWith = (systemReserved: Readonly<Record<string, string>>, from = machine): number =>
    nodeAllocatableLimits(from, { ...node, systemReserved }).pids
  assert.equal(pidsWith({}), 54_004, 'a tenth is reserved without a setting')
  assert.equal(pidsWith({ pid: '0' }), 60_005)
  assert.equal(pidsWith({ pid: '70k' }), 1)
  assert.equal(pidsWith({}, await found({}, 2)), -1, 'no limit where the kernel does not tell its own')
})
