/**
 * The complete path from a client to a container in the test process: a real API server with TLS, a real
 * kubelet server with certificate and token authentication, and a container runtime, simulated or real.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { UserInfo } from '#/api/transport.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import type { Audit } from '#/apiserver/audit.ts'
import { Server } from '#/apiserver/server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { PassLog } from '#/client/pass-log.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import { SimulatedRuntime } from '#/cri/simulated.ts'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import { ensureClusterCertificates, type ClusterCertificates } from '#/kubeadm/certificates.ts'
import { administrator, nodeIdentity, userOf } from '#/kubeadm/identities.ts'
import { ensureKubeletCertificates } from '#/kubeadm/kubelet-certificates.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'
import { KubeletServer } from '#/kubelet/server.ts'
import { connectHttp, nodeCrypto, nodeLinux, nodePlatform, processUsage, serveHttp } from '#/platform/node.ts'
import type { HttpLimits } from '#/platform/http.ts'
import { MemoryStore } from '#/store/memory.ts'
import { RuntimeNode } from './runtime-node.ts'

export interface StreamingClusterOptions {
  readonly settings?: Partial<KubeletConfiguration>
  /** Simulated when absent. */
  readonly runtime?: ContainerRuntime
  readonly image?: string
  readonly cgroupParent?: string
  /** Address of the node; loopback by default. */
  readonly address?: string
  readonly audit?: Audit
  /** Limits of both servers. */
  readonly limits?: Partial<HttpLimits>
}

const nodeName = 'node-0'
const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const crypto = nodeCrypto()

export class StreamingCluster {
  readonly platform = platform
  readonly folder: string
  readonly certificates: ClusterCertificates
  readonly server: Server
  /** Has administrator rights. */
  readonly client: Client
  readonly kubelet: KubeletServer
  readonly node: RuntimeNode
  readonly runtime: ContainerRuntime

  private constructor(front: Front, back: Back) {
    this.folder = front.folder
    this.certificates = front.certificates
    this.server = front.server
    this.client = front.client
    this.kubelet = back.kubelet
    this.node = back.node
    this.runtime = back.runtime
  }

  get kubeconfig(): string {
    return join(this.folder, 'admin.conf')
  }

  get url(): string {
    return `https://127.0.0.1:${this.server.address.port}`
  }

  static async start(
    { after }: { readonly after: (work: () => Promise<void>) => void },
    options: StreamingClusterOptions = {},
  ): Promise<StreamingCluster> {
    const stack = new AsyncDisposableStack()
    after(() => stack.disposeAsync())
    const front = await startFront(stack, options)
    const back = await startBack(stack, front, options)
    const { client, certificates } = front
    await ensureRoleBindings(client, platform.log)
    const cluster = new StreamingCluster(front, back)
    const { ca } = certificates
    const { kubeconfig: path, url: server } = cluster
    await ensureAdminKubeconfig({ platform, crypto, path, ca: ca, server })
    const { host: address, port: Port } = back.kubelet.address
    await client.create(nodes, {
      metadata: { name: nodeName },
      status: {
        addresses: [{ type: 'InternalIP', address }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      },
    })
    return cluster
  }
}

/** The API server. */
interface Front {
  readonly folder: string
  readonly certificates: ClusterCertificates
  readonly server: Server
  readonly client: Client
  readonly clientAs: (user: UserInfo) => Client
}

async function startFront(
  stack: AsyncDisposableStack,
  { audit, limits }: StreamingClusterOptions,
): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-streaming-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const pki = join(folder, 'pki')
  const certificates = await ensureClusterCertificates({ platform, crypto, folder: pki, serverNames: [] })
  const { ca, apiServer, kubeletClient, serviceAccounts } = certificates
  const store = stack.use(await MemoryStore.open({ platform }))
  const tls = { ca: ca.cert, ...kubeletClient }
  const api = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    authentication: {
      certificates: { authorities: ca.cert },
      serviceAccounts: {
        url: 'https://kubernetes.default.svc.cluster.local',
        signingKey: serviceAccounts.privateKey,
      },
    },
    kubelets: { connectHttp, tls: () => tls },
    ...(audit && { audit }),
  })
  stack.defer(() => api.stop())
  const server = await Server.start({
    platform,
    serveHttp,
    host: '127.0.0.1',
    port: 0,
    handle: api.handle,
    tls: { ...apiServer, clientCa: ca.cert },
    ...(limits && { limits }),
  })
  stack.defer(() => server.stop(0))
  const clientAs = (user: UserInfo): Client =>
    clientOf({ platform, transport: inProcessTransport({ handle: api.handle, user }), userAgent: 'test' })
  return { folder, certificates, server, client: clientAs(userOf(administrator)), clientAs }
}

/** The node. */
interface Back {
  readonly kubelet: KubeletServer
  readonly node: RuntimeNode
  readonly runtime: ContainerRuntime
}

async function startBack(
  stack: AsyncDisposableStack,
  { folder, certificates, client, clientAs }: Front,
  options: StreamingClusterOptions,
): Promise<Back> {
  const settings = kubeletConfiguration({
    name: nodeName,
    addresses: [options.address ?? '127.0.0.1'],
    rootDirectory: join(folder, 'node'),
    cgroupRoot: '/',
    kubeletPort: 0,
    ...options.settings,
  })
  await platform.files.makeFolder(settings.rootDirectory)
  const runtime = options.runtime ?? stack.use(simulatedRuntime())
  const { podLogsDir, addresses } = settings
  const { cgroupParent = '/test', image = 'busybox', limits } = options
  const node = stack.use(
    new RuntimeNode({ runtime, client, name: nodeName, podLogsDir, cgroupParent, image }),
  )
  const { ca } = certificates
  const pki = join(settings.rootDirectory, 'pki')
  const made = { platform, crypto, folder: pki, ca, nodeName, addresses }
  const { server } = await ensureKubeletCertificates(made)
  const kubelet = await KubeletServer.start({
    platform,
    linux: await nodeLinux(),
    serveHttp,
    client: clientAs(userOf(nodeIdentity(nodeName))),
    runtime,
    node: settings,
    view: node,
    metrics: new KubeletMetrics(),
    tls: { ...server, clientCa: ca.cert },
    usage: processUsage,
    passes: passLog(),
    ...(limits && { limits }),
  })
  stack.defer(() => kubelet.stop(0))
  return { kubelet, node, runtime }
}

function passLog(): PassLog {
  const passes = new PassLog()
  const pass = { component: 'kube-proxy', key: 'default/web', causes: [7], steps: [] }
  passes.record({ ...pass, queuedMs: 1, startedMs: 2, endedMs: 3 })
  return passes
}

function simulatedRuntime(): SimulatedRuntime {
  const images = { busybox: { isPresent: true } }
  return new SimulatedRuntime({ platform, podCidrs: ['10.244.0.0/24'], images })
}
