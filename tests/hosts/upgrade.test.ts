/** Hosts of a cluster are upgraded one after the other, by a package of another version. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { installPackage, packTree } from '../../tools/upgrade/package.ts'
import { exampleImages } from '../node/container-cluster.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { HostCluster } from './host-cluster.ts'
import { program, type HostMachine } from './host-machine.ts'
import { hostsMissing } from './hosts-missing.ts'

const root = join(import.meta.dirname, '../..')
const version = '1000.0.1'

for (const controlPlaneAs of ['process', 'static-pod'] as const)
  test(
    `a control plane as ${controlPlaneAs} and a worker are upgraded, and containers stay`,
    {
      skip: hostsMissing,
    },
    async t => {
      const folder = await temporaryFolder(t)
      const { archive } = await packTree(root, join(folder, 'package'))
      const nodeModules = join(root, 'node_modules')
      const upgraded = await installPackage({ archive, version, nodeModules, project: join(folder, 'new') })
      const shape = { controlPlanes: 1, workers: 1, bridge: 'in-own-namespace', controlPlaneAs } as const
      await using cluster = await HostCluster.boot({ folder, ...shape })
      await cluster.start()
      const [controlPlane, worker] = cluster.machines as [HostMachine, HostMachine]
      const container = await startPod(folder, cluster)

      // The worker may not be newer than the API server.
      const early = await worker.run([upgraded, 'upgrade', 'node'])
      assert.equal(early.code, 1)
      assert.match(
        early.stderr,
        /kubelets must not be newer than the API server \(v1\.36\.\S+\): run k8ts upgrade apply/,
      )

      const plan = await controlPlane.output(upgraded, 'upgrade', 'plan')
      assert.match(
        plan,
        new RegExp(`^kubelet {3,}${worker.name} {3,}v1\\.36\\S+ {3,}v1\\.36\\S+k8ts\\.${version}$`, 'm'),
      )
      assert.match(plan, new RegExp(`^kube-apiserver {3,}${controlPlane.name} `, 'm'))
      const serial = await controlPlane.output('sh', '-c', 'sha256sum .k8ts/pki/apiserver.crt')
      const applied = await controlPlane.output(upgraded, 'upgrade', 'apply', '--yes')
      for (const name of [
        'etcd',
        'kube-apiserver',
        'kube-controller-manager',
        'kube-scheduler',
        'kubelet',
        'kube-proxy',
      ])
        assert.match(
          applied,
          new RegExp(`^\\[upgrade/control-plane\\] Component "${name}" upgraded successfully!$`, 'm'),
        )
      assert.match(
        applied,
        new RegExp(
          `SUCCESS! A control plane node of your cluster was upgraded to "v1\\.36\\.\\S+${version}"`,
        ),
      )
      assert.match(
        applied,
        new RegExp(`run k8ts upgrade node of this version on the other hosts: ${worker.name}`),
      )
      assert.notEqual(await controlPlane.output('sh', '-c', 'sha256sum .k8ts/pki/apiserver.crt'), serial)
      const config = await controlPlane.kubectl(
        'get',
        'configmap',
        'kubeadm-config',
        '-n',
        'kube-system',
        '-o',
        'yaml',
      )
      assert.match(config, new RegExp(`kubernetesVersion: v1\\.36\\.\\d+\\+k8ts\\.${version}`))

      assert.match(await worker.output(upgraded, 'upgrade', 'node'), /was successfully upgraded!\n$/)
      const versions = await controlPlane.kubectl(
        'get',
        'nodes',
        '-o',
        'jsonpath={.items[*].status.nodeInfo.kubeletVersion}',
      )
      assert.match(versions, new RegExp(`^(v1\\.36\\.\\d+\\+k8ts\\.${version} ?){2}$`))
      assert.deepEqual(await containerOf(controlPlane), container)
      assert.match(await controlPlane.output(upgraded, 'upgrade', 'plan'), /there is nothing to upgrade/)
    },
  )

/** Resolves to its container and the number of restarts. */
async function startPod(folder: string, { machines }: HostCluster): Promise<string> {
  const [controlPlane, worker] = machines as [HostMachine, HostMachine]
  const path = join(folder, 'nginx.tar')
  await writeFile(path, (await exampleImages())['nginx']!)
  await worker.output(program, 'image', 'load', path)
  await waitUntil(async () => (await controlPlane.kubectl('get', 'serviceaccount')).includes('default'))
  await controlPlane.kubectl('run', 'web', '--image=nginx:1.7.9')
  await controlPlane.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s')
  return containerOf(controlPlane)
}

function containerOf(controlPlane: HostMachine): Promise<string> {
  const status = '{.status.containerStatuses[0]'
  return controlPlane.kubectl(
    'get',
    'pod',
    'web',
    '-o',
    `jsonpath=${status}.containerID} ${status}.restartCount}`,
  )
}
