/** A control plane host whose components are static pods of its kubelet. */
import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { busyboxImage, busyboxReference } from '../node/test-images.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { HostCluster } from './host-cluster.ts'
import { homeOnHost, program, type HostMachine } from './host-machine.ts'
import { hostsMissing } from './hosts-missing.ts'

const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler']

test(
  'a control plane of static pods runs workloads, recovers, follows its manifests and its program, and is removed',
  { skip: hostsMissing },
  async t => {
    const folder = await temporaryFolder(t)
    const shape = { controlPlanes: 1, workers: 0, bridge: 'in-own-namespace' } as const
    await using cluster = await HostCluster.boot({ folder, ...shape })
    const host = cluster.machines[0]!
    // No registry is reached.
    await mkdir(join(host.dataFolder, 'images'), { recursive: true })
    await writeFile(join(host.dataFolder, 'images/busybox.tar'), await busyboxImage())
    const form = ['--control-plane-as', 'static-pod']
    const { code, stdout, stderr } = await host.k8ts('init', '--local-etcd', ...form)
    assert.equal(code, 0, stdout + stderr)

    await waitUntil(async () => (await readyPods(host)).join() === components.join())
    const processes = (await host.output('ls', '.k8ts/processes')).trim().split('\n')
    assert.deepEqual(processes, ['coredns.json', 'kube-proxy.json', 'kubelet.json'])
    const config = await host.kubectl('get', 'configmap', '-n', 'kube-system', 'kubeadm-config', '-o', 'yaml')
    assert.match(config, /^ {2}control-plane-as: static-pod$/m)

    await host.kubectl('taint', 'node', host.name, 'node-role.kubernetes.io/control-plane-')
    const find = 'until nc -w 2 kubernetes.default.svc.cluster.local 443 </dev/null; do sleep 1; done'
    const run = [
      'run',
      'client',
      `--image=${busyboxReference}`,
      '--image-pull-policy=IfNotPresent',
      '--restart=Never',
      '--',
      'sh',
      '-c',
      find,
    ]
    await host.kubectl(...run)
    await waitUntil(async () => {
      return (await host.kubectl('get', 'pod', 'client', '-o', 'jsonpath={.status.phase}')) === 'Succeeded'
    })

    await host.output('pkill', '-KILL', '-x', 'etcd')
    await waitUntil(async () => {
      const etcd = await findPod(host, 'etcd')
      return (etcd?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0 && isReady(etcd)
    })

    const manifest = join(host.dataFolder, 'manifests/kube-scheduler.yaml')
    const text = await readFile(manifest, 'utf8')
    await writeFile(manifest, text.replace('    - scheduler\n', '    - scheduler\n    - --kube-api-qps=33\n'))
    await waitUntil(async () => {
      const scheduler = await findPod(host, 'kube-scheduler')
      return scheduler?.spec?.containers[0]?.command?.includes('--kube-api-qps=33') === true
    })
    await waitUntil(async () => (await readyPods(host)).join() === components.join())

    // As after an upgrade: the manifest has the image of the program of before.
    await host.output(program, 'host', 'stop')
    const current = await readFile(manifest, 'utf8')
    await writeFile(manifest, current.replace(/image: .*/, 'image: localhost/k8ts:0.0.0-000000000000'))
    await host.output(program, 'host', 'start')
    await waitUntil(async () => (await readFile(manifest, 'utf8')) === current)
    await waitUntil(async () => (await readyPods(host)).join() === components.join())
    const apiServer = await findPod(host, 'kube-apiserver')
    assert.equal(apiServer?.status?.containerStatuses?.[0]?.restartCount, 0)

    const removed = await host.k8ts('reset', '--force')
    assert.equal(removed.code, 0, removed.stdout + removed.stderr)
    assert.equal(await host.output('ls', '-A'), '.kube\n', 'the cache of kubectl')
    assert.equal(await host.output('sh', '-c', `grep -c ${homeOnHost}/.k8ts /proc/mounts || true`), '0\n')
    const groups = await host.output('sh', '-c', `find /sys/fs/cgroup -name 'k8ts-${host.name}'`)
    assert.equal(groups, '')
    const names = await host.output('sh', '-c', 'cat /proc/[0-9]*/comm')
    const ours = ['sh', 'sleep', 'cat']
    assert.deepEqual(
      names.split('\n').filter(name => name !== '' && !ours.includes(name)),
      [],
    )
  },
)

/** Of the control plane, without the name of the host, sorted. */
async function readyPods(host: HostMachine): Promise<readonly string[]> {
  const listed = await host.run([
    'kubectl',
    '--kubeconfig=.k8ts/admin.conf',
    'get',
    'pods',
    '-n',
    'kube-system',
    '-o',
    'json',
  ])
  if (listed.code !== 0) return []
  const { items } = JSON.parse(listed.stdout) as { readonly items: readonly Pod[] }
  return items.filter(isReady).map(({ metadata }) => metadata.name?.replace(`-${host.name}`, '') ?? '')
}

async function findPod(host: HostMachine, component: string): Promise<Pod | undefined> {
  const words = ['get', 'pod', '-n', 'kube-system', `${component}-${host.name}`, '-o', 'json']
  const { code, stdout } = await host.run(['kubectl', '--kubeconfig=.k8ts/admin.conf', ...words])
  return code === 0 ? (JSON.parse(stdout) as Pod) : undefined
}

function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
