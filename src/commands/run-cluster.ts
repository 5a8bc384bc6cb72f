/** Shared by the commands that run a cluster, or only its API server, in this process. */
import { untilAborted } from '#/base/abort.ts'
import { join } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { apiServerFlags } from '#/apiserver/flags.ts'
import { integerFlag, stringSliceFlag, UsageError, valueFlag, type FlagValues } from '#/base/flags.ts'
import type { Cluster, ClusterOptions, ControlPlaneSettings, StoreSettings } from '#/cluster.ts'
import type { DataFolder, FolderLoss } from '#/cluster/watch-data-folder.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { NetworkSlot } from '#/network/network-slot.ts'
import {
  collectGarbageWhenIdle,
  connectHttp,
  crashExitCode,
  findLauncher,
  findSupervisor,
  handOverExitCode,
  importModule,
  loadGrpc,
  machineNames,
  nodeCrypto,
  nodeLinux,
  nodePlatform,
  nodeProfiler,
  processId,
  processMemory,
  processUsage,
  reportCrashes,
  serveHttp,
  terminationSignal,
  type Platform,
  type Supervisor,
} from '#/platform/node.ts'
import type { Linux } from '#/platform/linux.ts'
import { isHandOver } from '#/platform/hand-over.ts'
import type { Files } from '#/platform/platform.ts'
import { file, readFlagFile } from './component-flags.ts'
import { dataFolder, dataFolderFlag, kubectlHint } from './data-folder.ts'
import { requireNoHost } from './folder-use.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'
import manifest from '../../package.json' with { type: 'json' }

/** Flags of all commands that run an API server. */
export const clusterFlags = {
  ...dataFolderFlag,
  'bind': valueFlag('ADDRESS', 'address to listen on (default 127.0.0.1)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  'port': valueFlag('N', 'port of the API server (default 6443); 0 selects a free port', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 2 ** 16 ? Number(given) : undefined),
    what: 'a port',
  }),
  'store': valueFlag('STORE', 'embedded (default), memory, or etcd://HOST:PORT,HOST:PORT', {
    parse: parseStore,
    what: 'embedded, memory or etcd://...',
  }),
  'etcd-servers': stringSliceFlag('URL,...', 'etcd as the store, over TLS: https://HOST:PORT'),
  'etcd-cafile': file('CA certificates of etcd'),
  'etcd-certfile': file('client certificate for etcd'),
  'etcd-keyfile': file('key of --etcd-certfile'),
  'quota-backend-bytes': integerFlag(
    'N',
    'maximum size of the store (default a quarter of the memory, at most 2147483648); 0 means no limit',
  ),
  'snapshot-interval': valueFlag(
    'DURATION',
    'time between snapshots of the embedded store (1h); 0 turns them off',
    {
      parse: given => nonNegative(given === '0' ? 0 : tryParseDurationMs(given)),
      what: 'a duration such as 30m or 1h',
    },
  ),
  'snapshot-retention': integerFlag('N', 'number of snapshots kept in DIR/snapshots (24); 0 turns them off'),
  ...verbosityFlag,
}

export interface RunClusterOptions extends Pick<
  ClusterOptions,
  'isFolderShared' | 'certificatesFolder' | 'servingCertificate'
> {
  readonly flags: FlagValues<typeof clusterFlags & typeof apiServerFlags>
  /** The control plane components beside the API server; none when absent. */
  readonly controlPlane?: ControlPlaneSettings
  /** `json`: one line, when the cluster is ready. Default `text`, with the progress of the start. */
  readonly output?: 'text' | 'json'
  /** Stops the cluster. */
  readonly signal?: AbortSignal
  /** Called when the cluster is ready; returns another line to print. */
  readonly onReady?: () => Promise<string | undefined>
}

/** Runs until the signal is aborted or the process receives a termination signal. */
export async function runCluster(terminal: Terminal, options: RunClusterOptions): Promise<number> {
  const { flags, controlPlane, output = 'text', signal } = options
  const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
  const { clock } = platform
  const memory = processMemory()
  using _ = collectGarbageWhenIdle(clock, () => memory.idle())
  const startedMs = clock.monotonicMs()
  const terminated = terminationSignal({ deadlineMs: stopDeadlineMs, handsOver: true })
  const ended = signal === undefined ? terminated : AbortSignal.any([terminated, signal])
  const print = (line: string): void => {
    if (output === 'text') terminal.write(`${line}\n`)
  }
  const folder = dataFolder(flags)
  const supervisor = findSupervisor()
  if (options.isFolderShared !== true) await requireNoHost(platform.files, folder)
  const launcher = findLauncher()
  const store = await storeSettings(platform.files, flags)
  let cluster: Cluster
  if (supervisor?.crashed !== undefined) await requireDataFolder(platform, folder)
  try {
    const supervision = supervisor && (await recover(platform, { supervisor, folder, signal: ended }))
    const { Cluster } = await import('#/cluster.ts')
    cluster = await Cluster.start({
      platform,
      machine: {
        serveHttp,
        connectHttp,
        importModule,
        loadGrpc,
        crypto: nodeCrypto(),
        usage: processUsage,
        profiler: nodeProfiler(),
        memory,
        names: machineNames(),
        pid: processId(),
        startedMs: clock.now(),
        ...(launcher !== undefined && { launcher }),
        ...(supervision && { supervision }),
      },
      folder,
      host: flags.bind ?? '127.0.0.1',
      port: flags.port ?? 6443,
      store,
      apiServer: flags,
      ...(controlPlane && { controlPlane }),
      ...(options.isFolderShared && { isFolderShared: true }),
      ...(options.certificatesFolder && { certificatesFolder: options.certificatesFolder }),
      ...(options.servingCertificate && { servingCertificate: options.servingCertificate }),
      build: { version: manifest.version },
      onProgress: print,
      signal: ended,
    })
  } catch (error) {
    if (ended.aborted) return isHandOver(ended) ? handOverExitCode : 0
    if (supervisor?.crashed === undefined) throw error
    platform.log.error('Cluster failed to start after a crash', { error })
    const { recordStartFailure } = await import('#/cluster/crash-recovery.ts')
    await recordStartFailure(platform, folder, error)
    return crashExitCode
  }
  const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(2)
  const { kubeconfig, url: server } = cluster
  print(`ready in ${seconds} s${await readyHints(kubeconfig, options)}`)
  if (output === 'json') terminal.write(`${JSON.stringify({ kubeconfig, server })}\n`)
  const { isFolderShared = false } = options
  const owned = isFolderShared ? undefined : await ownFolder(platform, folder)
  const loss = await runUntilEnded(owned, ended)
  if (owned && loss) return await stopAfterLoss(terminal, { cluster, loss, owned })
  return await stop(cluster, { platform, folder, print, keepsContainers: isHandOver(ended) })
}

/** What the line about the start ends with, and the lines after it. */
async function readyHints(
  kubeconfig: string,
  { isFolderShared, onReady }: RunClusterOptions,
): Promise<string> {
  const more = await onReady?.()
  return `${isFolderShared ? '' : kubectlHint(kubeconfig)}${more === undefined ? '' : `\n${more}`}`
}

interface StopOptions {
  readonly platform: Platform
  readonly folder: string
  readonly print: (line: string) => void
  readonly keepsContainers: boolean
}

/** Resolves to the exit code. */
async function stop(
  cluster: Cluster,
  { platform, folder, print, keepsContainers }: StopOptions,
): Promise<number> {
  print(keepsContainers ? 'handing over: containers go on' : 'stopping')
  await cluster.stop({ keepsContainers })
  if (!keepsContainers) return 0
  // Crashes of this version say nothing about the next one.
  const { crashRecordPath } = await import('#/cluster/crash-recovery.ts')
  await platform.files.remove(crashRecordPath(folder))
  return handOverExitCode
}

/** The data folder, and what is needed to remove the rest of a cluster without it. */
interface OwnedFolder extends DataFolder {
  readonly linux: Linux
  readonly claim: NetworkSlot | undefined
}

async function ownFolder(platform: Platform, folder: string): Promise<OwnedFolder> {
  const { readNetworkSlot } = await import('#/network/network-slot.ts')
  const claim = await readNetworkSlot(platform.files, folder)
  return { platform, linux: await nodeLinux(), folder, pid: processId(), claim }
}

/** Resolves with undefined when the cluster is to end, or with the reason why it cannot go on. */
async function runUntilEnded(
  owned: OwnedFolder | undefined,
  signal: AbortSignal,
): Promise<FolderLoss | undefined> {
  if (signal.aborted) return undefined
  if (owned === undefined) {
    await untilAborted(signal)
    return undefined
  }
  const { watchDataFolder } = await import('#/cluster/watch-data-folder.ts')
  return watchDataFolder(owned, signal)
}

interface Loss {
  readonly cluster: Cluster
  readonly loss: FolderLoss
  readonly owned: OwnedFolder
}

/** Removes what `k8ts down` could not find anymore without the folder. Ends in any case, as after a signal. */
async function stopAfterLoss(terminal: Terminal, { cluster, loss, owned }: Loss): Promise<number> {
  const { platform, linux, folder, claim } = owned
  terminal.writeError(`k8ts: ${loss.message}: stopping\n`)
  const stopAndRemove = async (): Promise<void> => {
    await cluster.stop().catch(() => undefined)
    if (claim === undefined || loss.isTakenOver) return
    const { removeCluster } = await import('#/cluster/remove-cluster.ts')
    await removeCluster({ platform, linux, folder, claim, onProgress: () => undefined })
  }
  const failed = (error: unknown): void => platform.log.error('Failed to remove the cluster', { error })
  await Promise.race([stopAndRemove().catch(failed), platform.clock.sleep(stopDeadlineMs)])
  return 1
}

/** A cluster that crashed because its data folder was deleted must not begin as an empty one. */
async function requireDataFolder(platform: Platform, folder: string): Promise<void> {
  if ((await platform.files.stat(folder)) === undefined)
    throw new Error(`the data folder ${folder} was deleted`)
}

interface RecoverOptions {
  readonly supervisor: Supervisor
  readonly folder: string
  readonly signal: AbortSignal
}

/** Resolves when the cluster may start: at once, unless the process has crashed repeatedly. */
async function recover(
  platform: Platform,
  { supervisor, folder, signal }: RecoverOptions,
): Promise<ClusterOptions['machine']['supervision']> {
  const { pid: supervisorPid, crashed } = supervisor
  const reportPath = join(folder, 'crash-report.json')
  reportCrashes(reportPath)
  if (crashed === undefined) return { supervisorPid }
  const { recoverFromCrash } = await import('#/cluster/crash-recovery.ts')
  const launcher = findLauncher()
  const program = { version: manifest.version, ...(launcher !== undefined && { launcher }) }
  const options = { platform, folder, reportPath, pid: processId(), supervisorPid, crashed, program }
  return { supervisorPid, crash: await recoverFromCrash(options, signal) }
}

async function storeSettings(files: Files, flags: RunClusterOptions['flags']): Promise<StoreSettings> {
  const etcd = await etcdSettings(files, flags)
  if (etcd && flags.store) throw new UsageError('--store and --etcd-servers are mutually exclusive')
  const { store = etcd ?? { type: 'embedded' }, 'quota-backend-bytes': quotaBytes } = flags
  if (store.type === 'etcd') {
    if (quotaBytes !== undefined) throw new UsageError('--quota-backend-bytes: set it for etcd itself')
    return store
  }
  const quota = quotaBytes === undefined ? {} : { quotaBytes }
  if (store.type === 'memory') return { ...store, ...quota }
  const { 'snapshot-interval': intervalMs = 3_600_000, 'snapshot-retention': retention = 24 } = flags
  const isScheduled = intervalMs > 0 && retention > 0
  return {
    ...store,
    ...quota,
    ...(isScheduled && { snapshots: { intervalMs, retention } }),
  }
}

async function etcdSettings(
  files: Files,
  flags: RunClusterOptions['flags'],
): Promise<StoreSettings | undefined> {
  const names = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const
  const { 'etcd-servers': endpoints } = flags
  const alone = names.find(name => flags[name] !== undefined)
  if (endpoints === undefined) {
    if (alone !== undefined) throw new UsageError(`--${alone} requires --etcd-servers`)
    return undefined
  }
  const wrong = endpoints.find(endpoint => !/^https?:\/\/[^/]+$/.test(endpoint))
  if (wrong !== undefined)
    throw new UsageError(`--etcd-servers ${wrong} is not a URL such as https://10.0.0.1:2379`)
  const [ca, cert, key] = await Promise.all(
    names.map(async name => flags[name] && readFlagFile(files, name, flags[name])),
  )
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--etcd-certfile and --etcd-keyfile are required together')
  if (alone === undefined) return { type: 'etcd', endpoints }
  const { 'etcd-cafile': caFile, 'etcd-certfile': certFile, 'etcd-keyfile': keyFile } = flags
  // They are renewed while the API server runs.
  const renewed = caFile && certFile && keyFile && { files: { ca: caFile, cert: certFile, key: keyFile } }
  return { type: 'etcd', endpoints, tls: { ...(ca && { ca }), ...(cert && { cert, key }), ...renewed } }
}

function nonNegative(number: number | undefined): number | undefined {
  return number === undefined || number < 0 ? undefined : number
}

/** The process exits within ten seconds after SIGTERM in any case. */
const stopDeadlineMs = 9_000

function parseStore(given: string): StoreSettings | undefined {
  if (given === 'embedded' || given === 'memory') return { type: given }
  const endpoints = /^etcd:\/\/(.+)$/.exec(given)?.[1]?.split(',')
  if (endpoints === undefined || !endpoints.every(endpoint => endpointForm.test(endpoint))) return undefined
  return { type: 'etcd', endpoints }
}

const endpointForm = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i
