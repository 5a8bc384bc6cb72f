/**
 * Container configurations from pod specs, in a real runtime: checked from inside the container, and for
 * termination messages and cgroups from outside.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Container, PodSpec } from '#/api/generated/core/v1.ts'
import type { Image, SandboxConfig } from '#/cri/cri.ts'
import { PodCgroups } from '#/kubelet/cgroups.ts'
import { containerConfigOf, sandboxConfigOf } from '#/kubelet/container-config.ts'
import type { ContainerInput } from '#/kubelet/container-input.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { nodeAllocatableLimits, readMachineInfo, type MachineInfo } from '#/kubelet/machine-info.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { podHostname } from '#/kubelet/pod-hostname.ts'
import { hostsFileOf } from '#/kubelet/pod-hosts-file.ts'
import { hostsFilePath, podLogFolder, terminationMessagePath } from '#/kubelet/pod-paths.ts'
import { createTerminationMessageFile, terminationMessage } from '#/kubelet/termination-message.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { busyboxReference } from './test-images.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'

const skip = containersMissing
let place: Place

interface Place {
  readonly containerd: TestContainerd
  readonly node: KubeletConfiguration
  readonly machine: MachineInfo
  readonly cgroups: PodCgroups
  readonly image: Image
}

interface RunningPod {
  readonly pod: KubeletPod
  readonly sandboxId: string
  readonly sandbox: SandboxConfig
  readonly addresses: readonly string[]
}

async function startPlace(): Promise<Place> {
  const containerd = await TestContainerd.start()
  const { platform, linux, folder, cgroupParent: cgroupRoot } = containerd
  const node = kubeletConfiguration({
    name: 'node-1',
    addresses: ['192.0.2.7'],
    rootDirectory: join(folder, 'node'),
    cgroupRoot,
    clusterDNS: ['10.96.0.10'],
  })
  await mkdir(join(node.rootDirectory, 'seccomp'), { recursive: true })
  const machine = await readMachineInfo({ platform, linux, node })
  const cgroups = new PodCgroups({
    metrics: new KubeletMetrics(),
    platform,
    linux,
    node,
    hugePageSizes: machine.hugePageSizes,
  })
  await cgroups.start(nodeAllocatableLimits(machine, node))
  const image = await containerd.runtime.imageStatus(busyboxReference)
  assert.ok(image)
  return { containerd, node, machine, cgroups, image }
}

async function runPod(place: Place, name: string, spec: Partial<PodSpec> = {}): Promise<RunningPod> {
  const { containerd, node, machine, cgroups } = place
  const { runtime } = containerd
  const pod: KubeletPod = {
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, labels: { app: name } },
    spec: { containers: [], ...spec },
  }
  await cgroups.ensure(pod)
  await mkdir(podLogFolder(node, pod), { recursive: true })
  const context = { attempt: 0, node, machine, resolvConf: 'nameserver 192.0.2.1\nsearch home\n' }
  const { config: sandbox } = sandboxConfigOf(pod, context)
  const sandboxId = await runtime.runPodSandbox(sandbox)
  const { addresses } = await runtime.podSandboxStatus(sandboxId)
  return { pod, sandboxId, sandbox, addresses }
}

interface Given extends Partial<Container> {
  /** Expected number of log lines: the runtime may still write them after the process has exited. */
  readonly lines?: number
  readonly more?: Partial<ContainerInput>
}

/** Runs a script to completion: its output, exit status and termination message. */
async function runScript(
  place: Place,
  running: RunningPod,
  script: string,
  given: Given = {},
): Promise<{ readonly said: readonly string[]; readonly exitCode: number; readonly words: string }> {
  const { containerd, node } = place
  const { runtime, linux, platform } = containerd
  const { more, lines = 0, ...rest } = given
  const container: Container = {
    name: `c${++count}`,
    image: 'busybox',
    command: ['sh', '-c', script],
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...rest,
  }
  const { pod, sandboxId, sandbox, addresses } = running
  const { uid } = pod.metadata
  await createTerminationMessageFile(
    linux,
    terminationMessagePath(node, { uid, container: container.name, attempt: 0 }),
  )
  const name = podHostname(pod, node.clusterDomain)
  await writeFile(hostsFilePath(node, uid), hostsFileOf({ pod, addresses, name, nodeHosts: '' }))
  await mkdir(join(podLogFolder(node, pod), container.name), { recursive: true })
  const config = await containerConfigOf({
    pod: { ...pod, spec: { ...pod.spec, containers: [container] } },
    container,
    attempt: 0,
    image: place.image,
    podAddresses: addresses,
    services: [],
    volumes: new Map(),
    sources: {
      configMap: async () => undefined,
      secret: async () => undefined,
      subPath: async () => assert.fail('no part of a volume is mounted'),
      file: async () => undefined,
    },
    node,
    machine: place.machine,
    ...more,
  })
  const id = await runtime.createContainer({ sandboxId, sandbox, config })
  await runtime.startContainer(id)
  for (;;) {
    await platform.clock.sleep(10)
    const status = await runtime.containerStatus(id)
    if (status.state !== 'exited') continue
    const log = await readFile(status.logPath, 'utf8')
    const said = log
      .split('\n')
      .slice(0, -1)
      .map(line => line.split(' ').slice(3).join(' '))
    if (said.length < lines) continue
    return { said, exitCode: status.exitCode, words: await terminationMessage(linux, status) }
  }
}

let count = 0

before(async () => {
  if (!skip) place = await startPlace()
})
after(async () => {
  if (skip) return
  const { runtime } = place.containerd
  for (const { id } of await runtime.listPodSandbox()) {
    await runtime.stopPodSandbox(id)
    await runtime.removePodSandbox(id)
  }
  for (const uid of await place.cgroups.list()) await place.cgroups.remove(uid)
  await place.cgroups.removeAll()
  const { cgroupRoot } = place.node
  const left = (await readdir('/sys/fs/cgroup'))
    .map(each => join('/sys/fs/cgroup', each, cgroupRoot))
    .filter(existsSync)
  assert.deepEqual(left, [], 'no control group is left')
  await place.containerd[Symbol.asyncDispose]()
})

test(
  'a container gets its environment variables, hostname, files and supplemental groups',
  { skip },
  async () => {
    const running = await runPod(place, 'plain', {
      hostname: 'front',
      subdomain: 'inner',
      hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias.example'] }],
      securityContext: {
        fsGroup: 4242,
        sysctls: [{ name: 'net.ipv4.ip_local_port_range', value: '3000 4000' }],
      },
    })
    const [address] = running.addresses
    const script = [
      'echo $MODE $ADDRESS $LIMIT',
      'hostname',
      'grep -c "inner.shop.svc.cluster.local" /etc/hosts',
      'grep alias.example /etc/hosts',
      'cat /etc/resolv.conf',
      'id -G',
      'cat /proc/sys/net/ipv4/ip_local_port_range',
      'grep -E ":memory:|^0::" /proc/self/cgroup | grep -o "kubepods/.*/pod[^/]*" | head -1',
      'echo -n done > /dev/termination-log',
    ].join('; ')
    const { said, exitCode, words } = await runScript(place, running, script, {
      env: [
        { name: 'MODE', value: 'fast' },
        { name: 'ADDRESS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
      ],
      resources: { limits: { memory: '64Mi', cpu: '1' }, requests: { memory: '32Mi' } },
      lines: 10,
    })
    assert.deepEqual(said, [
      `fast ${address} 64`,
      'front',
      '1',
      '192.0.2.9\talias.example',
      'search shop.svc.cluster.local svc.cluster.local cluster.local home',
      'nameserver 10.96.0.10',
      'options ndots:5',
      '0 4242',
      '3000\t4000',
      'kubepods/besteffort/poduid-plain',
    ])
    assert.deepEqual([exitCode, words], [0, 'done'])
  },
)

test('the kernel enforces the resource limits of a container', { skip }, async () => {
  const running = await runPod(place, 'limits')
  const { memoryBytes, cgroupVersion } = place.machine
  const resources = { requests: { cpu: '250m', memory: '32Mi' }, limits: { cpu: '500m', memory: '64Mi' } }
  const files =
    cgroupVersion === 1
      ? [
          'memory/memory.limit_in_bytes',
          'memory/memory.memsw.limit_in_bytes',
          'cpu/cpu.shares',
          'cpu/cpu.cfs_quota_us',
        ]
      : ['memory.max', 'memory.swap.max', 'cpu.weight', 'cpu.max', 'memory.oom.group']
  const script = `cat /proc/self/oom_score_adj; cd /sys/fs/cgroup; cat ${files.join(' ')}`
  const { said } = await runScript(place, running, script, { resources, lines: files.length + 1 })
  const limit = String(64 * 1024 ** 2)
  const score = String(1_000 - Math.floor((1_000 * 32 * 1024 ** 2) / memoryBytes))
  assert.deepEqual(
    said,
    cgroupVersion === 1
      ? [score, limit, limit, '256', '50000']
      : [score, limit, '0', '10', '50000 100000', '1'],
  )
  const killed = await runScript(place, running, 'a=x; while true; do a=$a$a$a; done', { resources })
  assert.equal(killed.exitCode, 137, 'who takes more memory is killed')
})

test(
  'the security context sets users, capabilities and the read-only root filesystem',
  { skip },
  async () => {
    const running = await runPod(place, 'secure')
    const script = [
      'id -u; id -g',
      'grep -E "CapEff|NoNewPrivs|^Seccomp:" /proc/self/status | tr -s "\\t " " "',
      'touch /file 2>&1',
      'cat /proc/keys 2>&1 | wc -c',
    ].join('; ')
    const strict = await runScript(place, running, script, {
      lines: 7,
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 3000,
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    })
    assert.deepEqual(strict.said, [
      '1000',
      '3000',
      'CapEff: 0000000000000000',
      'NoNewPrivs: 1',
      'Seccomp: 2',
      'touch: /file: Read-only file system',
      '0',
    ])
    const loose = await runScript(place, running, script, {
      lines: 6,
      securityContext: { capabilities: { add: ['NET_ADMIN'] } },
    })
    assert.deepEqual(loose.said.slice(0, 2), ['0', '0'])
    assert.deepEqual(loose.said.slice(3), ['NoNewPrivs: 0', 'Seccomp: 0', '0'])
    assert.equal(BigInt(`0x${loose.said[2]?.split(' ')[1]}`) & (1n << 12n), 1n << 12n, 'NET_ADMIN')
    const refused = runScript(place, running, 'true', { securityContext: { runAsNonRoot: true } })
    await assert.rejects(refused, /container has runAsNonRoot and image will run as root/)
  },
)

test('a localhost seccomp profile is enforced', { skip }, async () => {
  const running = await runPod(place, 'seccomp')
  const path = join(place.node.rootDirectory, 'seccomp/profiles/no-folders.json')
  await mkdir(dirname(path), { recursive: true })
  const syscalls = [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }]
  await writeFile(path, JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls }))
  const seccompProfile = { type: 'Localhost', localhostProfile: 'profiles/no-folders.json' }
  const { exitCode } = await runScript(place, running, 'mkdir /tmp-folder', {
    securityContext: { seccompProfile },
  })
  assert.equal(exitCode, 1)
  assert.equal((await runScript(place, running, 'mkdir /tmp-folder')).exitCode, 0)
})

test('shareProcessNamespace and hostPID make other processes visible', { skip }, async () => {
  const shared = await runPod(place, 'shared', { shareProcessNamespace: true })
  const names = await runScript(place, shared, 'cat /proc/1/comm; true', { lines: 1 })
  assert.notDeepEqual(names.said, ['sh'], 'the first process is that of the sandbox')
  const alone = await runPod(place, 'alone')
  assert.deepEqual((await runScript(place, alone, 'cat /proc/1/comm; true', { lines: 1 })).said, ['sh'])
  const host = await runPod(place, 'host', { hostNetwork: true, hostPID: true })
  assert.deepEqual(host.addresses, [])
  const script = 'readlink /proc/self/ns/net; readlink /proc/self/ns/pid; head -1 /etc/hosts'
  const { said } = await runScript(place, host, script, { lines: 3 })
  assert.deepEqual(said, [
    await readlink('/proc/self/ns/net'),
    await readlink('/proc/self/ns/pid'),
    '# Kubernetes-managed hosts file (host network).',
  ])
})

test('FallbackToLogsOnError takes the termination message from the log', { skip }, async () => {
  const running = await runPod(place, 'words')
  const failed = await runScript(place, running, 'echo first; echo it broke; exit 3', {
    lines: 2,
  })
  assert.deepEqual([failed.exitCode, failed.words], [3, 'first\nit broke\n'])
  const fine = await runScript(place, running, 'echo all is well', { lines: 1 })
  assert.deepEqual([fine.exitCode, fine.words], [0, ''])
  const file = { terminationMessagePolicy: 'File', lines: 1 }
  assert.equal((await runScript(place, running, 'echo unheard; exit 1', file)).words, '')
  const long = await runScript(place, running, 'yes 0123456789 | head -c 100000 > /dev/termination-log')
  assert.equal(long.words.length, 4096)
})
