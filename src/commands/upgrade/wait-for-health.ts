/** Waits until the components of a host or a cluster are healthy after an upgrade, one after the other. */
import { join } from 'node:path'
import { isTrue } from '#/api/conditions.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import { messageOf } from '#/base/message-of.ts'
import { readHostProcessRecords, processFlag, processLogPath } from '#/cluster/host-process-records.ts'
import { controlPlaneImageVersion } from '#/cluster/control-plane-image.ts'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { readHostComponents } from '#/cluster/static-pod-manifests.ts'
import { connectCluster } from '../cluster-connection.ts'
import type { UpgradeRun } from './apply.ts'
import { readVersion } from './facts.ts'

export interface WaitForHealthOptions {
  /** Of k8ts. */
  readonly version: string
  readonly onProgress: (line: string) => void
}

/** In the order in which they depend on each other. */
const processOrder = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'coredns',
]

/** Rejects when a component is not healthy in time. */
export async function waitForHealth(run: UpgradeRun, options: WaitForHealthOptions): Promise<void> {
  const { platform, folder, isHost } = run
  const kubernetes = gitVersion(options)
  const records = isHost ? await readHostProcessRecords(platform.files, folder) : []
  const components = isHost ? await readHostComponents(platform.files, folder) : []
  const nodeName = processFlag(records, 'kubelet', 'hostname-override')
  for (const name of processOrder.filter(each => components.some(component => component.name === each))) {
    const isProcess = records.some(record => record.name === name)
    const what = isProcess
      ? `${name}, log: ${processLogPath(folder, name)}`
      : `static pod ${name}-${nodeName}`
    await waitFor(run, what, () =>
      isProcess ? checkProcess(run, name) : checkStaticPod(run, { name, nodeName, version: options.version }),
    )
    if (name === 'kube-apiserver') await waitFor(run, what, () => checkApiServer(run, kubernetes))
    if (name === 'kubelet') await waitFor(run, what, () => checkNode(run, { nodeName, kubernetes }))
    options.onProgress(`Component "${name}" upgraded successfully!`)
  }
  if (!isHost) await waitFor(run, 'the API server', () => checkApiServer(run, kubernetes))
}

const healthMs = 120_000
const pollMs = 200

async function waitFor({ platform }: UpgradeRun, what: string, check: () => Promise<void>): Promise<void> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + healthMs
  for (;;) {
    try {
      return await check()
    } catch (cause) {
      if (clock.monotonicMs() > endMs) throw new Error(`${what}: ${messageOf(cause)}`, { cause })
      await clock.sleep(pollMs)
    }
  }
}

/** Rejects while the process does not run. */
async function checkProcess({ platform, folder }: UpgradeRun, name: string): Promise<void> {
  const holder = await readLockHolder(platform, folder)
  const state = holder?.processes?.find(each => each.name === name)
  if (state?.pid === undefined) throw new Error('the process does not run')
}

interface CheckedPod {
  readonly name: string
  readonly nodeName: string | undefined
  /** Of k8ts. */
  readonly version: string
}

/** Rejects until the pod is ready with the image of the version: the host makes it, and updates the manifest. */
async function checkStaticPod(
  { platform, folder }: UpgradeRun,
  { name, nodeName = '', version }: CheckedPod,
): Promise<void> {
  await using cluster = await connectCluster(platform, { kubeconfig: join(folder, 'kubelet.conf') })
  const { spec, status } = await cluster.client.get(pods, {
    namespace: 'kube-system',
    name: `${name}-${nodeName}`,
  })
  const image = spec?.containers[0]?.image ?? ''
  if ((controlPlaneImageVersion(image) ?? version) !== version) throw new Error(`it has the image ${image}`)
  if (!isTrue(status?.conditions, 'Ready')) throw new Error('it is not Ready')
}

async function checkApiServer(
  { platform, folder, isHost, flags }: UpgradeRun,
  version: string,
): Promise<void> {
  // The components of a control plane host use its own API server.
  const kubeconfig = isHost ? { kubeconfig: join(folder, 'controller-manager.conf') } : flags
  await using cluster = await connectCluster(platform, kubeconfig)
  await cluster.client.raw({ method: 'GET', path: '/readyz' })
  const running = await readVersion(cluster.client)
  if (running !== version) throw new Error(`the API server has version ${running} instead of ${version}`)
}

interface CheckedNode {
  readonly nodeName: string | undefined
  readonly kubernetes: string
}

async function checkNode(
  { platform, folder }: UpgradeRun,
  { nodeName: name = '', kubernetes }: CheckedNode,
): Promise<void> {
  await using cluster = await connectCluster(platform, { kubeconfig: join(folder, 'kubelet.conf') })
  const { status } = await cluster.client.get(nodes, { name })
  if (!isTrue(status?.conditions, 'Ready')) throw new Error(`node ${name} is not Ready`)
  const running = status?.nodeInfo?.kubeletVersion
  if (running !== kubernetes) throw new Error(`node ${name} has kubelet ${running} instead of ${kubernetes}`)
}
