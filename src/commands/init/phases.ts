/** The phases of `k8ts init`, in the order in which they run, with kubeadm's names. */
import { join } from 'node:path'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { UsageError } from '#/base/flags.ts'
import { ensureDnsEndpointRole, ensureDnsRbac, ensureDnsService } from '#/dns/ensure-dns.ts'
import { createBootstrapToken } from '#/kubeadm/bootstrap-tokens.ts'
import { generateCertificateKey, validateCertificateKey } from '#/kubeadm/certificate-key.ts'
import { publishClusterInfo } from '#/kubeadm/cluster-info.ts'
import { kubeconfigFiles, runCertsPhase, runKubeconfigPhase } from '#/kubeadm/init-files.ts'
import { planControlPlaneProcesses, type PodNetworkBackend } from '#/kubeadm/host-processes.ts'
import { joinHostPort, planBootstrapTokens, type InitSettings } from '#/kubeadm/init-settings.ts'
import { joinCommand } from '#/kubeadm/join-command.ts'
import {
  applyApiServersReader,
  applyProxyAddon,
  bindClusterAdmins,
  markControlPlane,
} from '#/kubeadm/mark-control-plane.ts'
import { ensureRoleBindings, ensureTlsBootstrapRoleBindings } from '#/kubeadm/role-bindings.ts'
import { uploadCerts } from '#/kubeadm/upload-certs.ts'
import {
  formatKubeletConfiguration,
  uploadKubeadmConfig,
  uploadKubeletConfig,
} from '#/kubeadm/upload-config.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { connectCluster, type ClusterConnection } from '../cluster-connection.ts'
import { adminKubeconfig, dataFolder } from '../data-folder.ts'
import { planHostEtcd } from '../host-etcd.ts'
import {
  startKubelet,
  waitForApiServer,
  waitForClusterAdmin,
  waitForComponents,
  waitForNode,
  writeLocalKubeconfig,
} from '../host-phases.ts'
import { hostRequirements, runPreflight } from '../run-preflight.ts'
import { bootHint } from '../start-host.ts'
import type { Phase, PhaseRun } from './phase.ts'

/** kubeadm's names. */
const controlPlaneParts: ReadonlyMap<string, string> = new Map([
  ['apiserver', 'kube-apiserver'],
  ['controller-manager', 'kube-controller-manager'],
  ['scheduler', 'kube-scheduler'],
])

const kubeconfigParts = kubeconfigFiles.map(name => name.replace('.conf', ''))

export const phases: Readonly<Record<string, Phase>> = {
  'preflight': { parts: [], run: preflight },
  'certs': { parts: ['all'], run: certs },
  'kubeconfig': { parts: ['all', ...kubeconfigParts], run: kubeconfig },
  'etcd': { parts: ['local'], run: etcd },
  'control-plane': { parts: ['all', ...controlPlaneParts.keys()], run: controlPlane },
  'kubelet-start': { parts: [], run: kubeletStart },
  'wait-control-plane': { parts: [], run: waitControlPlane },
  'upload-config': { parts: ['all', 'kubeadm', 'kubelet'], run: uploadConfig },
  'upload-certs': { parts: [], run: uploadCertificates },
  'mark-control-plane': { parts: [], run: mark },
  'bootstrap-token': { parts: [], run: bootstrapToken },
  'addon': { parts: ['all', 'coredns', 'kube-proxy'], run: addon },
  'show-join-command': { parts: [], run: showJoinCommand },
}

function preflight({ platform, terminal, settings, configuration, flags }: PhaseRun): Promise<number> {
  const { folder, bindPort, etcd } = settings
  const ports = [bindPort, ...(etcd.type === 'local' ? [2379, 2380] : [])]
  const { ignorePreflightErrors = [] } = configuration.init.nodeRegistration ?? {}
  return runPreflight({
    platform,
    terminal,
    requirements: hostRequirements({ role: 'control-plane', folder, ports }),
    ignored: flags['ignore-preflight-errors'] ?? ignorePreflightErrors,
  })
}

async function certs({ platform, terminal, settings }: PhaseRun): Promise<void> {
  await runCertsPhase({ platform, crypto: nodeCrypto() }, settings)
  terminal.write(`[certs] Valid certificates and keys now exist in "${settings.certificatesDir}"\n`)
}

async function kubeconfig({ platform, terminal, settings, part }: PhaseRun): Promise<void> {
  const options = { platform, crypto: nodeCrypto() }
  const { ca } = await runCertsPhase(options, settings)
  const files = kubeconfigFiles.filter(name => part === 'all' || name === `${part}.conf`)
  await runKubeconfigPhase(options, settings, { ca, files })
  for (const name of files) terminal.write(`[kubeconfig] Writing "${name}" kubeconfig file\n`)
}

async function etcd({ platform, terminal, settings, controlPlane: host }: PhaseRun): Promise<void> {
  if (settings.etcd.type !== 'local') return
  const { command, environment } = await planHostEtcd(platform, settings)
  const form = await host.write([{ name: 'etcd', command, environment }])
  terminal.write(`[etcd] Writing the ${form} of the local etcd member\n`)
}

async function controlPlane({ terminal, settings, part, controlPlane: host }: PhaseRun): Promise<void> {
  const all = planControlPlaneProcesses(settings)
  const processes = all.filter(({ name }) => part === 'all' || name === controlPlaneParts.get(part))
  const form = await host.write(processes)
  for (const { name } of processes) terminal.write(`[control-plane] Writing the ${form} of ${name}\n`)
}

async function kubeletStart({ platform, terminal, settings, flags }: PhaseRun): Promise<void> {
  const { advertiseAddress, bindPort } = settings
  terminal.write('[kubelet-start] Starting the kubelet and the other processes of this host\n')
  await writeLocalKubeconfig(platform, settings, 'kubelet.conf')
  if (settings.hasDns) await writeLocalKubeconfig(platform, settings, 'dns.conf')
  await startKubelet({
    platform,
    settings,
    configuration: formatKubeletConfiguration(settings),
    podNetwork: podNetworkOf(flags, settings),
    servers: [joinHostPort(advertiseAddress, bindPort)],
    hasDns: settings.hasDns,
  })
}

async function waitControlPlane({ platform, terminal, settings, configuration }: PhaseRun): Promise<void> {
  const { controlPlaneComponentHealthCheck: timeout = '' } = configuration.init.timeouts ?? {}
  const timeoutMs = tryParseDurationMs(timeout)
  terminal.write('[wait-control-plane] Waiting for the API server\n')
  const startedMs = platform.clock.monotonicMs()
  await waitForApiServer({ platform, settings, timeoutMs })
  const seconds = ((platform.clock.monotonicMs() - startedMs) / 1_000).toFixed(1)
  terminal.write(`[wait-control-plane] The API server is ready after ${seconds} s\n`)
  await waitForComponents({ platform, settings, timeoutMs })
  terminal.write('[wait-control-plane] The controller manager and the scheduler are ready\n')
}

async function uploadConfig(phase: PhaseRun): Promise<void> {
  const { terminal, settings, part, controlPlane } = phase
  await using cluster = await connectAsAdministrator(phase)
  if (part !== 'kubelet') {
    await uploadKubeadmConfig(cluster.client, settings, await controlPlane.form())
    terminal.write(
      '[upload-config] Storing the configuration used in ConfigMap "kubeadm-config" in the "kube-system" Namespace\n',
    )
  }
  if (part === 'kubeadm') return
  await uploadKubeletConfig(cluster.client, settings)
  terminal.write('[upload-config] Creating a ConfigMap "kubelet-config" in namespace kube-system\n')
}

async function uploadCertificates(phase: PhaseRun): Promise<void> {
  const { platform, terminal, settings, flags, configuration } = phase
  if (flags['upload-certs'] !== true) {
    terminal.write('[upload-certs] Skipping phase. Please see --upload-certs\n')
    return
  }
  const given = flags['certificate-key'] ?? configuration.init.certificateKey
  const problem = given === undefined ? undefined : validateCertificateKey(given)
  if (problem !== undefined) throw new UsageError(problem)
  const certificateKey = given ?? generateCertificateKey(platform.random)
  await using cluster = await connectAsAdministrator(phase)
  const { certificatesDir, etcd } = settings
  await uploadCerts({ client: cluster.client, platform, certificatesDir, certificateKey, etcd })
  terminal.write(
    '[upload-certs] Storing the certificates in Secret "kubeadm-certs" in the "kube-system" Namespace\n',
  )
  terminal.write(`[upload-certs] Using certificate key:\n${certificateKey}\n`)
}

async function mark(phase: PhaseRun): Promise<void> {
  const { platform, terminal, settings, configuration } = phase
  await using cluster = await connectAsAdministrator(phase)
  const timeoutMs = tryParseDurationMs(configuration.init.timeouts?.kubeletHealthCheck ?? '')
  await waitForNode({ platform, settings, timeoutMs }, cluster.client)
  await markControlPlane(cluster.client, settings)
  terminal.write(`[mark-control-plane] Marking the node ${settings.nodeName} as control-plane\n`)
}

async function bootstrapToken(phase: PhaseRun): Promise<void> {
  const { platform, terminal, configuration } = phase
  const now = { random: platform.random, nowMs: platform.clock.now() }
  const tokens = planBootstrapTokens(configuration.init.bootstrapTokens, now)
  await using cluster = await connectAsAdministrator(phase)
  for (const token of tokens) await createBootstrapToken(cluster.client, token)
  await ensureRoleBindings(cluster.client, platform.log)
  await ensureTlsBootstrapRoleBindings(cluster.client, platform.log)
  await applyApiServersReader(cluster.client)
  await publishClusterInfo(cluster.client, cluster)
  for (const { id, secret } of tokens) terminal.write(`[bootstrap-token] Using token: ${id}.${secret}\n`)
}

async function addon(phase: PhaseRun): Promise<void> {
  const { terminal, settings, part, flags } = phase
  await using cluster = await connectAsAdministrator(phase)
  if (part !== 'kube-proxy' && settings.hasDns) {
    await ensureDnsRbac(cluster.client)
    await ensureDnsEndpointRole(cluster.client)
    await ensureDnsService(cluster.client, settings.clusterDns[0] ?? '')
    terminal.write('[addons] Applied essential addon: CoreDNS\n')
  }
  if (part === 'coredns' || !settings.hasProxy) return
  await applyProxyAddon(cluster.client, settings, podNetworkOf(flags, settings))
  terminal.write('[addons] Applied essential addon: kube-proxy\n')
}

/** The service proxy connects the nodes; what replaces it connects them, too. */
function podNetworkOf({ cni }: PhaseRun['flags'], { podSubnets, hasProxy }: InitSettings): PodNetworkBackend {
  return cni ?? (podSubnets.length > 0 && hasProxy ? 'vxlan' : 'none')
}

async function showJoinCommand(phase: PhaseRun): Promise<void> {
  const { platform, terminal, settings, configuration, flags } = phase
  const [{ token = '' } = {}] = configuration.init.bootstrapTokens ?? []
  await using cluster = await connectAsAdministrator(phase)
  const command = joinCommand({ ...cluster, token })
  const { 'certificate-key': certificateKey } = flags
  const isShared = flags['upload-certs'] === true && settings.etcd.type !== 'embedded'
  const controlPlanes = isShared
    ? `Further control planes, within two hours:\n\n  ${joinCommand({ ...cluster, token, certificateKey })}\n\n`
    : ''
  terminal.write(`
Your Kubernetes control plane has initialized successfully. To use it:

  export KUBECONFIG=${adminKubeconfig(settings.folder)}

Further machines join as root with:

  ${command}

${controlPlanes}${await bootHint(platform, settings.folder)}`)
}

/** The administrator's rights are granted with super-admin.conf, when there is one. */
async function connectAsAdministrator({ platform, flags }: PhaseRun): Promise<ClusterConnection> {
  const folder = dataFolder(flags)
  const superAdmin = join(folder, 'super-admin.conf')
  if (flags.kubeconfig !== undefined || (await platform.files.stat(superAdmin)) === undefined)
    return connectCluster(platform, flags)
  await using cluster = await connectCluster(platform, { kubeconfig: superAdmin })
  await bindClusterAdmins(cluster.client)
  const administrator = await connectCluster(platform, flags)
  await waitForClusterAdmin(platform, folder, administrator.client)
  return administrator
}
