import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation, SimulatedLinux } from '#/platform/simulated.ts'
import { kubeletConfiguration } from '../kubelet-configuration.ts'
import { hostInfo } from '../testdata/host-info.ts'
import { kubeletPod } from '../testdata/objects.ts'
import { Cadvisor } from './cadvisor.ts'

const podGroup = '/k/kubepods/besteffort/podu-1'

const netDev = (bytes: number): string =>
  `Inter-|\n face |\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  eth0: ${bytes} 3 1 2 0 0 0 0 5 6 7 8 0 0 0 0\n`

const machineFiles: Readonly<Record<string, string>> = {
  '/proc/cpuinfo': [0, 1, 2, 3]
    .map(id => `processor\t: ${id}\nphysical id\t: 0\ncore id\t\t: ${id % 2}\n`)
    .join('\n'),
  '/proc/stat': 'btime 1700000000\n',
  '/proc/diskstats': '   8       0 sda 10 1 80 2000 20 2 160 3000 1 4000 5000 0 0 0 0\n',
  '/proc/meminfo': 'MemTotal: 8 kB\nMemFree: 3 kB\nInactive(file): 1 kB\nAnonPages: 2 kB\n',
  '/proc/1/net/dev': netDev(1_000),
  '/proc/77/net/dev': netDev(200),
  '/sys/fs/cgroup/cpu.stat': 'usage_usec 9000000\n',
  [`/sys/fs/cgroup${podGroup}/cpu.stat`]: 'usage_usec 3000000\n',
  [`/sys/fs/cgroup${podGroup}/sandbox/cgroup.procs`]: '77\n',
  [`/sys/fs/cgroup${podGroup}/c1/cpu.stat`]: 'usage_usec 2000000\nnr_throttled 4\n',
  [`/sys/fs/cgroup${podGroup}/c1/cpu.max`]: '50000 100000\n',
  [`/sys/fs/cgroup${podGroup}/c1/cpu.weight`]: '1\n',
  [`/sys/fs/cgroup${podGroup}/c1/memory.current`]: '5000\n',
  [`/sys/fs/cgroup${podGroup}/c1/io.stat`]: '8:0 rbytes=4096 wbytes=0 rios=1 wios=0\n',
  [`/sys/fs/cgroup${podGroup}/c1/memory.pressure`]: 'some total=2000000\nfull total=1000000\n',
}

const pod = kubeletPod({
  spec: { containers: [{ name: 'main' }] },
  status: {
    startTime: '2026-01-01T00:00:00Z',
    containerStatuses: [
      {
        name: 'main',
        image: 'docker.io/library/busybox:latest',
        imageID: 'sha256:1',
        containerID: 'containerd://c1',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:05Z' } },
      },
      {
        name: 'ended',
        image: 'i',
        imageID: 'sha256:1',
        containerID: 'containerd://c2',
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode: 0 } },
      },
    ],
  },
})

async function start(files: Readonly<Record<string, string>>) {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('node')
  for (const [path, text] of Object.entries(files)) {
    await simulation.run(host.files.makeFolder(path.slice(0, path.lastIndexOf('/'))))
    await simulation.run(host.files.write(path, text))
  }
  let reads = 0
  const counted = {
    clock: host.clock,
    log: host.log,
    files: Object.assign(Object.create(host.files), {
      read: (path: string) => (reads++, host.files.read(path)),
    }) as typeof host.files,
  }
  const linux = new SimulatedLinux({ files: host.files, machine: hostInfo })
  const cadvisor = new Cadvisor({
    platform: counted,
    linux,
    node: kubeletConfiguration({ name: 'n1', addresses: [], rootDirectory: '/k', cgroupRoot: '/k' }),
    view: { pods: () => [pod], sandboxId: () => 'sandbox' },
    sandboxImage: 'registry.k8s.io/pause:3.10',
    version: 'v1',
  })
  return { simulation, cadvisor, reads: () => reads }
}

/** Lines without the time of their measurement. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').map(line => line.replace(/ \d{12,}$/, ''))
}

const ofPod = 'namespace="default",pod="web"'
const main = `id="${podGroup}/c1",image="docker.io/library/busybox:latest",name="c1",${ofPod}`

test('machine, pods, sandboxes and containers have the metrics and labels of cAdvisor', async () => {
  const { simulation, cadvisor } = await start(machineFiles)
  const lines = linesOf(await simulation.run(cadvisor.render()))
  const root = 'container="",id="/",image="",name="",namespace="",pod=""'
  const nameless = 'name="",namespace="",pod=""'
  const device = 'device="/dev/sda",'
  const sandbox = `id="${podGroup}/sandbox",image="registry.k8s.io/pause:3.10"`
  for (const expected of [
    `container_cpu_usage_seconds_total{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 9`,
    `container_cpu_usage_seconds_total{container="",cpu="total",id="${podGroup}",image="",name="",${ofPod}} 3`,
    `container_cpu_usage_seconds_total{container="main",cpu="total",${main}} 2`,
    `container_cpu_cfs_throttled_periods_total{container="main",${main}} 4`,
    `container_spec_cpu_quota{container="main",${main}} 50000`,
    `container_memory_usage_bytes{container="main",${main}} 5000`,
    `container_memory_working_set_bytes{${root}} 4096`,
    `container_spec_memory_limit_bytes{${root}} 8.589934592e+09`,
    `container_fs_reads_bytes_total{container="main",${device}${main}} 4096`,
    `container_network_receive_bytes_total{container="",${sandbox},interface="eth0",name="sandbox",${ofPod}} 200`,
    `container_network_transmit_packets_dropped_total{container="",id="/",image="",interface="eth0",${nameless}} 8`,
    `container_pressure_memory_stalled_seconds_total{container="main",${main}} 1`,
    `container_start_time_seconds{container="main",${main}} 1.767225605e+09`,
    `container_start_time_seconds{${root}} 1.7e+09`,
    `machine_cpu_cores{boot_id="first",machine_id="machine",system_uuid="system"} 4`,
    `machine_cpu_physical_cores{boot_id="first",machine_id="machine",system_uuid="system"} 2`,
    'container_scrape_error 0',
    'machine_scrape_error 0',
  ])
    assert.ok(lines.includes(expected), `${expected}\nis not in\n${lines.join('\n')}`)
  const text = lines.join('\n')
  assert.doesNotMatch(text, /interface="lo"/)
  assert.doesNotMatch(text, /container="ended"|NaN/)
  assert.doesNotMatch(text, /^container_memory_max_usage_bytes\{container="",.*id="\/",/m, 'it is not known')
})

test('concurrent scrapes share one measurement', async () => {
  const { simulation, cadvisor, reads } = await start(machineFiles)
  await simulation.run(cadvisor.render())
  const once = reads()
  await simulation.run(Promise.all([cadvisor.render(), cadvisor.render(), cadvisor.render()]))
  assert.equal(reads(), 2 * once)
})
