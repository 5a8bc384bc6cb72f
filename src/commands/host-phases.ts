/** The steps of `k8ts init` and `k8ts join` that set up the processes of a host, and wait for them. */
import { dirname, join } from 'node:path'
import { isApiError } from '#/api/errors.ts'
import { selfSubjectAccessReviews } from '#/api/generated/authorization/v1-resources.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { messageOf } from '#/base/message-of.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { writeServerList } from '#/api-balancer/api-server-list.ts'
import { apiServersPath } from '#/cluster/host-balancer.ts'
import { processLogPath, writeHostProcessRecord } from '#/cluster/host-process-records.ts'
import {
  localApiServerUrl,
  planControlPlaneProcesses,
  planDnsProcess,
  planNodeProcesses,
  type HostProcess,
  type PodNetworkBackend,
} from '#/kubeadm/host-processes.ts'
import { dnsServer, nodeIdentity } from '#/kubeadm/identities.ts'
import { runCertsPhase } from '#/kubeadm/init-files.ts'
import { joinHostPort, type InitSettings } from '#/kubeadm/init-settings.ts'
import { healthEndpoint } from '#/kubeadm/static-pod.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { formatHostKubeletConfiguration } from '#/kubeadm/upload-config.ts'
import { connectHttp, nodeCrypto, type Platform } from '#/platform/node.ts'
import { startHost } from './start-host.ts'

export interface HostPhase {
  readonly platform: Platform
  readonly settings: InitSettings
}

async function writeProcesses(
  { platform, settings }: HostPhase,
  processes: readonly HostProcess[],
): Promise<void> {
  for (const process of processes) await writeHostProcessRecord(platform.files, settings.folder, process)
}

export interface KubeletStart extends HostPhase {
  /** Of the KubeletConfiguration of the cluster. */
  readonly configuration: string
  readonly podNetwork: PodNetworkBackend
  /** `host:port` of the API servers that are known. */
  readonly servers: readonly string[]
  /** True on a control plane host of a cluster with this DNS server. */
  readonly hasDns: boolean
}

/** Writes the files of the kubelet and its process, and starts all processes of the host. */
export async function startKubelet(options: KubeletStart): Promise<void> {
  const { platform, settings, configuration, podNetwork, servers, hasDns } = options
  const { files } = platform
  const { folder } = settings
  const path = join(folder, 'kubelet', 'config.yaml')
  await files.makeFolder(dirname(path), { mode: 0o700 })
  await files.write(path, formatHostKubeletConfiguration(configuration, settings), { mode: 0o600 })
  await writeServerList(platform, apiServersPath(folder), { servers, bootstrapServers: servers })
  await writeProcesses(options, planNodeProcesses(settings, podNetwork))
  if (hasDns) await writeProcesses(options, [planDnsProcess(settings)])
  await startHost(platform, folder)
}

/** The kubeconfig of a client on a control plane host that uses any API server: the local balancer chooses. */
export async function writeLocalKubeconfig(
  platform: Platform,
  settings: InitSettings,
  file: 'kubelet.conf' | 'dns.conf',
): Promise<void> {
  const { folder, nodeName, clusterName, validity } = settings
  const made = { platform, crypto: nodeCrypto(), validity }
  const { ca } = await runCertsPhase(made, settings)
  const identity = file === 'dns.conf' ? dnsServer : nodeIdentity(nodeName)
  const path = join(folder, file)
  await ensureKubeconfigFile({ ...made, path, ca, clusterName, server: localApiServerUrl, identity })
}

const usualTimeoutMs = 240_000
const pollMs = 200

export interface WaitOptions extends HostPhase {
  readonly timeoutMs?: number | undefined
}

/** Waits until the API server of this host is ready. */
export async function waitForApiServer({ platform, settings, timeoutMs }: WaitOptions): Promise<void> {
  const { advertiseAddress, bindPort, certificatesDir, folder } = settings
  const server = `https://${joinHostPort(advertiseAddress, bindPort)}`
  const ca = { file: join(certificatesDir, 'ca.crt') }
  await using transport = await openConnection({
    platform,
    connect: connectHttp,
    settings: { server, ca, namespace: 'default', user: {} },
  })
  const client = clientOf({ platform, transport, userAgent: 'k8ts' })
  await waitFor(
    {
      platform,
      timeoutMs,
      what: `the API server at ${server}`,
      log: processLogPath(folder, 'kube-apiserver'),
    },
    async () => {
      await client.raw({ method: 'GET', path: '/readyz' })
    },
  )
}

/** Waits until the components beside the API server of this host are ready. */
export async function waitForComponents({ platform, settings, timeoutMs }: WaitOptions): Promise<void> {
  for (const process of planControlPlaneProcesses(settings)) {
    const endpoint = healthEndpoint(process)
    // A component with port 0 does not serve its health.
    if (process.name === 'kube-apiserver' || !endpoint?.port) continue
    const { host, port, paths } = endpoint
    // Its certificate may be self-signed, and nothing secret is asked.
    const connection = { insecureSkipVerify: true, namespace: 'default', user: {} }
    await using transport = await openConnection({
      platform,
      connect: connectHttp,
      settings: { ...connection, server: `https://${joinHostPort(host, port)}` },
    })
    const client = clientOf({ platform, transport, userAgent: 'k8ts' })
    const log = processLogPath(settings.folder, process.name)
    await waitFor({ platform, timeoutMs, what: process.name, log }, async () => {
      await client.raw({ method: 'GET', path: paths.readiness ?? '/readyz' })
    })
  }
}

export interface WaitForNodeOptions extends Omit<WaitOptions, 'settings'> {
  readonly settings: Pick<InitSettings, 'nodeName' | 'folder'>
}

/** Waits until the kubelet of this host has its certificate, and its node, which may be left from before, exists. */
export async function waitForNode(
  { platform, settings, timeoutMs }: WaitForNodeOptions,
  client: Client,
): Promise<void> {
  const { nodeName: name, folder } = settings
  const log = processLogPath(folder, 'kubelet')
  const kubeconfig = join(folder, 'kubelet.conf')
  await waitFor({ platform, timeoutMs, what: `the kubelet of node ${name}`, log }, async () => {
    if ((await platform.files.stat(kubeconfig)) === undefined)
      throw new Error('it has no client certificate yet')
    await client.get(nodes, { name })
  })
}

/** Waits until the API server knows the binding of the administrator: its authorizer reads a cache of the store. */
export async function waitForClusterAdmin(platform: Platform, folder: string, client: Client): Promise<void> {
  const log = processLogPath(folder, 'kube-apiserver')
  await waitFor({ platform, timeoutMs: usualTimeoutMs, what: 'the API server', log }, async () => {
    const resourceAttributes = { verb: '*', group: '*', resource: '*' }
    const review = await client.create(selfSubjectAccessReviews, {
      metadata: {},
      spec: { resourceAttributes },
    })
    if (review.status?.allowed !== true)
      throw new Error('it does not know the rights of the administrator yet')
  })
}

interface Wait {
  readonly platform: Platform
  readonly timeoutMs: number | undefined
  /** In the error. */
  readonly what: string
  readonly log: string
}

/** Rejects when the attempt has failed for the whole time. */
async function waitFor(
  { platform, timeoutMs = usualTimeoutMs, what, log }: Wait,
  attempt: () => Promise<void>,
): Promise<void> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + timeoutMs
  for (;;) {
    try {
      return await attempt()
    } catch (cause) {
      if (isApiError(cause, 'Unauthorized') || isApiError(cause, 'Forbidden')) throw cause
      if (clock.monotonicMs() > endMs)
        throw new Error(`${what} is not ready: ${messageOf(cause)}; see ${log}`, { cause })
      await clock.sleep(pollMs)
    }
  }
}
