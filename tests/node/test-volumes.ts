/** Pod volumes on the real machine, below a temporary folder, with an API server that has the nodes. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { nodes, pods, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { isNamespaced, type KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { PodObjects } from '#/kubelet/pod-objects.ts'
import { PodVolumes } from '#/kubelet/volumes.ts'
import type { Linux } from '#/platform/linux.ts'
import { nodeLinux, nodePlatform, type Platform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'

export interface TestVolumes {
  readonly platform: Platform
  readonly linux: Linux
  readonly node: KubeletConfiguration
  /** Has administrator rights. */
  readonly client: Client
  readonly objects: PodObjects
  readonly volumes: PodVolumes
  /** A new instance without any state, as after a kubelet restart. */
  readonly restarted: () => PodVolumes
  /** For files outside of the kubelet's folder. */
  readonly folder: string
  readonly createPod: (spec: PodSpec, metadata?: Pod['metadata']) => Promise<KubeletPod>
  /** Advances the wall time. */
  readonly advance: (ms: number) => void
  readonly signal: AbortSignal
  /** Mounts below the test's folder, relative to it. */
  readonly mounts: () => Promise<readonly string[]>
}

export const needsRoot = process.getuid?.() === 0 ? false : 'only root may mount'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' })

export async function startTestVolumes(t: TestContext): Promise<TestVolumes> {
  let skewMs = 0
  const real = nodePlatform({ log: { level: 'error', format: 'text' } })
  const platform: Platform = { ...real, clock: { ...real.clock, now: () => real.clock.now() + skewMs } }
  const linux = await nodeLinux()
  const root = await realpath(await mkdtemp(join(tmpdir(), 'k8ts-volumes-')))
  const folder = join(root, 'other')
  await mkdir(folder)
  const clientAs = await startApiServer(t, platform)
  const client = clientAs('kubernetes-admin', ['system:masters'])
  const nodeClient = clientAs('system:node:n1', ['system:nodes'])
  await client.create(serviceAccounts, { metadata: { namespace: 'default', name: 'default' } })
  await client.create(nodes, { metadata: { name: 'n1', labels: { 'kubernetes.io/hostname': 'n1' } } })
  const node = kubeletConfiguration({
    name: 'n1',
    addresses: ['10.0.0.1'],
    rootDirectory: join(root, 'node'),
    cgroupRoot: '/test',
  })
  const objects = new PodObjects({ platform, client: nodeClient })
  const stopping = new AbortController()
  const running = objects.run(stopping.signal)
  const allocatable = { 'memory': '64Mi', 'cpu': '2', 'ephemeral-storage': '1Gi' }
  const restarted = (): PodVolumes =>
    new PodVolumes({
      metrics: new KubeletMetrics(),
      platform,
      linux,
      client: nodeClient,
      node,
      objects,
      allocatable: () => allocatable,
    })
  const mounts = async (): Promise<readonly string[]> => {
    const paths = (await linux.mounts.list()).map(({ path }) => path)
    return paths.filter(path => path.startsWith(`${root}/`)).map(path => path.slice(root.length + 1))
  }
  t.after(async () => {
    stopping.abort()
    await running
    for (const path of (await mounts()).toReversed()) await linux.mounts.unmount(join(root, path))
    await linux.files.removeTree(root)
  })
  return {
    platform,
    linux,
    node,
    client,
    objects,
    volumes: restarted(),
    restarted,
    folder,
    createPod: (spec, metadata) => createPod(client, spec, metadata),
    advance: ms => void (skewMs += ms),
    signal: stopping.signal,
    mounts,
  }
}

async function startApiServer(
  t: TestContext,
  platform: Platform,
): Promise<(username: string, groups: readonly string[]) => Client> {
  const store = await MemoryStore.open({ platform })
  const server = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    authentication: { serviceAccounts: { url: 'https://cluster.test', signingKey } },
  })
  t.after(() => server.stop())
  return (username, groups) => {
    const user = { username, groups: [...groups, 'system:authenticated'] }
    const transport = inProcessTransport({ handle: server.handle, user })
    return clientOf({ platform, transport, userAgent: username })
  }
}

let podsMade = 0

async function createPod(client: Client, spec: PodSpec, metadata: Pod['metadata'] = {}): Promise<KubeletPod> {
  podsMade += 1
  const pod = await client.create(pods, {
    metadata: { namespace: 'default', name: `pod-${podsMade}`, ...metadata },
    spec: { nodeName: 'n1', serviceAccountName: 'default', ...spec },
  })
  assert.ok(isNamespaced(pod))
  return pod
}

/** A container that mounts these volumes, each at `/NAME`. */
export function containerWith(...names: readonly string[]): PodSpec['containers'][number] {
  return {
    name: 'main',
    image: 'image',
    volumeMounts: names.map(name => ({ name, mountPath: `/${name}` })),
  }
}
