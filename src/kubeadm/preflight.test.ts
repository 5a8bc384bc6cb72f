import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedLinux, Simulation } from '#/platform/simulated.ts'
import {
  forwardingSysctl,
  formatPreflight,
  ignorePreflightErrors,
  planPreflight,
  type MachineFacts,
  type PreflightRequirements,
} from './preflight.ts'
import { readMachineFacts } from './read-machine-facts.ts'

const requirements: PreflightRequirements = {
  role: 'control-plane',
  ports: [6443, 10250],
  emptyFolders: ['/k/manifests'],
  absentFiles: ['/k/kubelet.conf'],
  existingFiles: ['/k/pki/ca.crt'],
  programs: [{ name: 'containerd' }, { name: 'cni/ptp' }, { name: 'conntrack', feature: 'UDP' }],
  folder: '/k',
}

const good: MachineFacts = {
  isRoot: true,
  processors: 2,
  memoryBytes: 2e9,
  swapBytes: 0,
  kernelVersion: '6.1.0-18-amd64',
  cgroupVersion: 2,
  hostname: 'CP1.example.com',
  freeBytes: 1e10,
  takenPorts: [],
  existingPaths: ['/k/pki/ca.crt'],
  filledFolders: [],
  missingPrograms: [],
  sysctls: { [forwardingSysctl]: '1' },
  kubeletVersion: 'v1.36.0',
}

test('each problem of a machine has the name of its check and one line', () => {
  const check = (
    change: Partial<MachineFacts>,
    expected: string,
    needs: Partial<PreflightRequirements> = {},
  ): void => {
    const problems = planPreflight({ ...requirements, ...needs }, { ...good, ...change })
    assert.equal(
      problems
        .map(each => `${each.severity === 'error' ? '' : '(warning) '}${each.check}: ${each.message}`)
        .join('\n'),
      expected,
    )
  }
  check({}, '')
  check({ processors: 1 }, 'NumCPU: the number of available CPUs 1 is less than the required 2')
  check({ memoryBytes: 1.5e9 }, 'Mem: the system RAM (1500 MB) is less than the minimum 1700 MB')
  check({ processors: 1, memoryBytes: 1.5e9 }, '', { role: 'worker' })
  check({ isRoot: false }, 'IsPrivilegedUser: user is not running as root: run the command with sudo')
  check(
    { takenPorts: [6443] },
    'Port-6443: Port 6443 is in use: stop the process that ss -ltnp sport = :6443 shows',
  )
  check(
    { swapBytes: 1 },
    '(warning) Swap: swap is on, and supported for cgroup v2 only: configure the kubelet for swap, ' +
      'or disable it with swapoff -a',
  )
  check({ freeBytes: 5e6 }, 'DiskSpace: /k has 5 MB of free space, at least 1000 MB are needed')
  check(
    { kernelVersion: '5.4.0' },
    'SystemVerification: kernel 5.4.0 is too old: 5.13.0 or newer is required',
  )
  check(
    { cgroupVersion: 1 },
    '(warning) SystemVerification: cgroups v1 support is in maintenance mode: boot with ' +
      'systemd.unified_cgroup_hierarchy=1',
  )
  check({ hostname: 'a_b' }, 'Hostname: host name "a_b" is no DNS name: set --node-name')
  check(
    { sysctls: {} },
    'FileContent--proc-sys-net-ipv4-ip_forward: /proc/sys/net/ipv4/ip_forward contents are not set to 1: ' +
      'sysctl -w net.ipv4.ip_forward=1',
  )
  check({}, '', { controlPlaneVersion: 'v1.36.4' })
  check(
    {},
    'KubeletVersion: the kubelet version v1.36.0 is higher than the control plane version v1.35.2: ' +
      'upgrade the control plane first',
    { controlPlaneVersion: 'v1.35.2' },
  )
  check(
    { filledFolders: ['/k/manifests'] },
    'DirAvailable--k-manifests: /k/manifests is not empty: remove it, or choose another --data-dir',
  )
  check(
    { existingPaths: ['/k/kubelet.conf'] },
    'FileAvailable--k-kubelet.conf: /k/kubelet.conf already exists: remove it, or choose another --data-dir\n' +
      "FileExisting--k-pki-ca.crt: /k/pki/ca.crt doesn't exist",
  )
  check(
    { missingPrograms: requirements.programs },
    'CRI: containerd not found in system path: install it\n' +
      'FileExisting-cni-ptp: cni/ptp not found in system path: install it\n' +
      '(warning) FileExisting-conntrack: conntrack not found in system path: install it for UDP',
  )
})

test('ignored checks are warnings', () => {
  const problems = planPreflight(requirements, { ...good, processors: 1, isRoot: false })
  const errors = (ignored: readonly string[]): readonly string[] =>
    ignorePreflightErrors(problems, ignored).flatMap(each => (each.severity === 'error' ? [each.check] : []))
  assert.deepEqual(errors([]), ['NumCPU', 'IsPrivilegedUser'])
  assert.deepEqual(errors(['numcpu']), ['IsPrivilegedUser'])
  assert.deepEqual(errors(['all']), [])
  const text = formatPreflight(ignorePreflightErrors(problems, ['NumCPU']))
  assert.match(
    text,
    /^\t\[WARNING NumCPU\]: .*\n\[preflight\] Some fatal errors occurred:\n\t\[ERROR IsPrivilegedUser\]: /,
  )
  assert.match(text, /--ignore-preflight-errors=NAME\n$/)
  assert.equal(formatPreflight([]), '')
})

test('the facts are those of the machine', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('a')
  const run = <T>(promise: Promise<T>): Promise<T> => simulation.run(promise)
  const linux = new SimulatedLinux({ files: platform.files, machine: { processors: 3, hostname: 'a' } })
  const read = () => run(readMachineFacts({ platform, linux, requirements, kubeletVersion: 'v1.36.0' }))
  const empty = await read()
  assert.deepEqual(
    [
      empty.takenPorts,
      empty.existingPaths,
      empty.filledFolders,
      empty.missingPrograms.length,
      empty.processors,
    ],
    [[], [], [], 3, 3],
  )
  for (const folder of ['/k/manifests', '/usr/bin', '/opt/cni/bin', '/proc/sys/net/ipv4'])
    await run(platform.files.makeFolder(folder))
  const paths = ['/k/manifests/x.yaml', '/k/kubelet.conf', '/usr/bin/containerd', '/opt/cni/bin/ptp']
  for (const path of paths) await run(platform.files.write(path, 'x'))
  await run(platform.files.write(forwardingSysctl, '1\n'))
  await using _ = await run(platform.network.listen({ host: '0.0.0.0', port: 6443 }, () => undefined))
  const filled = await read()
  assert.deepEqual(filled.takenPorts, [6443])
  assert.deepEqual(filled.existingPaths, ['/k/kubelet.conf'])
  assert.deepEqual(filled.filledFolders, ['/k/manifests'])
  assert.deepEqual(filled.missingPrograms, [{ name: 'conntrack', feature: 'UDP' }])
  assert.equal(filled.sysctls[forwardingSysctl], '1')
})
