/** `k8ts join`: joins this host to a cluster, whole or one phase at a time. */
import { join, resolve } from 'node:path'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { UsageError } from '#/base/flags.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { parseBootstrapToken } from '#/kubeadm/bootstrap-token.ts'
import type { JoinConfiguration } from '#/kubeadm/configuration.ts'
import { discoverCluster } from '#/kubeadm/discover-cluster.ts'
import { checkBootstrapToken, readDiscoveryFile, writeJoinFiles } from '#/kubeadm/join-files.ts'
import type { ClusterAccess } from '#/kubeadm/kubeconfig-file.ts'
import { connectHttp, type Platform } from '#/platform/node.ts'
import { dataFolder } from './data-folder.ts'
import { joinConfiguration, joinFlags } from './join/flags.ts'
import { controlPlaneParts, prepareControlPlane } from './join/control-plane.ts'
import { joinHost } from './join/host.ts'
import { joinSettings } from './join/settings.ts'
import { hostRequirements, runPreflight } from './run-preflight.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

const usage = `preflight|discovery|control-plane-prepare [${controlPlaneParts.join('|')}] [HOST:PORT]`

type Invocation = SubcommandInvocation<typeof joinFlags>

export const command = commandWithSubcommands({
  name: 'join',
  summary: `Joins this host to a cluster, and leaves its processes running in the background. k8ts init and
k8ts token create --print-join-command print the command line. See k8ts host for starting them again, and k8ts reset
for undoing it.`,
  whole: subcommand({
    usage: 'HOST:PORT',
    summary: 'Join a cluster',
    flags: joinFlags,
    maxArguments: 1,
    run: runAll,
  }),
  subcommands: {
    phase: subcommand({
      usage,
      summary: 'Run one phase, which can be run again',
      flags: joinFlags,
      maxArguments: 3,
      run: runPhase,
    }),
  },
  examples: `  k8ts join 10.0.0.1:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HEX
      as a worker
  k8ts join 10.0.0.1:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HEX \\
      --control-plane --certificate-key KEY
      as a further control plane
  k8ts join phase discovery 10.0.0.1:6443 --token TOKEN --discovery-token-ca-cert-hash sha256:HEX
      writes DIR/bootstrap-kubelet.conf and DIR/pki/ca.crt
`,
})

async function runAll(invocation: Invocation): Promise<number> {
  const { platform, terminal, words, flags } = invocation
  const configuration = await joinConfiguration(platform, flags, words[0])
  const code = await preflight(invocation, configuration)
  if (code !== 0) return code
  await using found = await findCluster(invocation, configuration)
  await joinHost({ platform, terminal, folder: dataFolder(flags), flags, configuration, ...found })
  return 0
}

async function runPhase(invocation: Invocation): Promise<number> {
  const { platform, terminal, words, flags } = invocation
  const [phase, ...rest] = words
  const parts = phase === 'control-plane-prepare' ? controlPlaneParts : ['discovery', 'preflight']
  const [part = '', endpoint] = phase === 'control-plane-prepare' ? rest : words
  if (!parts.includes(part)) throw new UsageError(`usage: k8ts join phase ${usage}`)
  if (part === 'preflight') {
    const controlPlane = flags['control-plane'] ? {} : undefined
    return preflight(invocation, controlPlane ? { controlPlane } : {})
  }
  const configuration = await joinConfiguration(platform, flags, endpoint)
  await using found = await findCluster(invocation, configuration)
  const { client, cluster, token, caCertPath } = found
  const folder = dataFolder(flags)
  if (part === 'discovery') {
    const written = await writeJoinFiles(platform, { folder, caCertPath, cluster, token })
    terminal.write(`[discovery] Wrote ${written} and ${caCertPath}\n`)
    return 0
  }
  const settings = await joinSettings(client, { folder, configuration })
  await prepareControlPlane({ platform, terminal, client, configuration, settings, part })
  return 0
}

function preflight(
  { platform, terminal, flags }: Invocation,
  { controlPlane, nodeRegistration }: JoinConfiguration,
): Promise<number> {
  return runPreflight({
    platform,
    terminal,
    requirements: hostRequirements({
      role: controlPlane ? 'control-plane' : 'worker',
      folder: dataFolder(flags),
      ports: controlPlane ? [controlPlane.localAPIEndpoint?.bindPort ?? 6443] : [],
    }),
    ignored: flags['ignore-preflight-errors'] ?? nodeRegistration?.ignorePreflightErrors ?? [],
  })
}

export interface FoundCluster extends AsyncDisposable {
  /** With the rights of the bootstrap token. */
  readonly client: Client
  readonly cluster: ClusterAccess
  /** Of the TLS bootstrap. */
  readonly token: string
  readonly caCertPath: string
}

/** Finds the cluster, and tries the token. */
async function findCluster(invocation: Invocation, configuration: JoinConfiguration): Promise<FoundCluster> {
  const { platform, flags } = invocation
  const cluster = await discover(invocation, configuration)
  const { discovery = {}, caCertPath = join(dataFolder(flags), 'pki/ca.crt') } = configuration
  const token = discovery.tlsBootstrapToken ?? discovery.bootstrapToken?.token
  if (token === undefined) throw new UsageError('set --tls-bootstrap-token: a discovery file has no token')
  const opened = await connectWithToken(platform, cluster, token)
  await checkBootstrapToken(opened.client, { nowMs: platform.clock.now(), server: cluster.server })
  return { ...opened, cluster, token, caCertPath }
}

async function connectWithToken(
  platform: Platform,
  { server, caCertificates }: ClusterAccess,
  token: string,
): Promise<AsyncDisposable & { readonly client: Client }> {
  const ca = { data: Buffer.from(caCertificates) }
  const settings = { server, ca, namespace: 'default', user: { token: { data: token } } }
  const transport = await openConnection({ platform, connect: connectHttp, settings })
  return {
    client: clientOf({ platform, transport, userAgent: 'k8ts' }),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

async function discover(
  { platform, terminal }: Invocation,
  { discovery = {}, timeouts }: JoinConfiguration,
): Promise<ClusterAccess> {
  const { bootstrapToken, file } = discovery
  if (file) return readDiscoveryFile(platform, resolve(file.kubeConfigPath ?? ''))
  const { apiServerEndpoint = '', token = '', caCertHashes = [] } = bootstrapToken ?? {}
  const found = await discoverCluster({
    platform,
    connect: connectHttp,
    endpoint: apiServerEndpoint,
    token: parseBootstrapToken(token)!,
    caCertHashes,
    timeoutMs: tryParseDurationMs(timeouts?.discovery ?? '') ?? 5 * 60_000,
    onRetry: reason => terminal.writeError(`[discovery] Retrying: ${reason}\n`),
  })
  // That of `cluster-info` may be a control plane that is gone: this one has just answered.
  return { ...found, server: `https://${apiServerEndpoint}` }
}
