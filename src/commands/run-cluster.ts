/** Shared by the commands that run a cluster, or only its API server, in this process. */
import { once } from 'node:events'
import { parseIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import type { apiServerFlags } from '#/apiserver/flags.ts'
import { valueFlag, integerFlag, UsageError, type FlagValues } from '#/base/flags.ts'
import type { Cluster, ClusterOptions, ControlPlaneSettings, StoreSettings } from '#/cluster.ts'
import type { Terminal } from '#/command-line/command.ts'
import {
  collectGarbageWhenIdle,
  connectHttp,
  importModule,
  loadGrpc,
  machineNames,
  nodeCrypto,
  nodePlatform,
  processId,
  processMemory,
  processUsage,
  serveHttp,
  terminationSignal,
} from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
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
  'quota-backend-bytes': integerFlag(
    'N',
    'maximum size of the embedded store (default 2147483648); 0 means no limit',
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
  'v': integerFlag('N', 'log verbosity: 0 warnings (default), 2 info, 4 debug'),
}

export interface RunClusterOptions extends Pick<ClusterOptions, 'isFolderShared' | 'servingCertificate'> {
  readonly flags: FlagValues<typeof clusterFlags & typeof apiServerFlags>
  /** The control plane components beside the API server; none when absent. */
  readonly controlPlane?: ControlPlaneSettings
  /** `json`: one line, when the cluster is ready. Default `text`, with the progress of the start. */
  readonly output?: 'text' | 'json'
  /** Stops the cluster. */
  readonly signal?: AbortSignal
}

/** Runs until the signal is aborted or the process receives a termination signal. */
export async function runCluster(terminal: Terminal, options: RunClusterOptions): Promise<number> {
  const { flags, controlPlane, output = 'text', signal } = options
  const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
  const { clock } = platform
  using _ = collectGarbageWhenIdle(clock)
  const startedMs = clock.monotonicMs()
  const terminated = terminationSignal({ deadlineMs: stopDeadlineMs })
  const ended = signal === undefined ? terminated : AbortSignal.any([terminated, signal])
  const print = (line: string): void => {
    if (output === 'text') terminal.write(`${line}\n`)
  }
  let cluster: Cluster
  try {
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
        memory: processMemory(),
        names: machineNames(),
        pid: processId(),
        startedMs: clock.now(),
      },
      folder: dataFolder(flags),
      host: flags.bind ?? '127.0.0.1',
      port: flags.port ?? 6443,
      store: storeSettings(flags),
      apiServer: flags,
      ...(controlPlane && { controlPlane }),
      ...(options.isFolderShared && { isFolderShared: true }),
      ...(options.servingCertificate && { servingCertificate: options.servingCertificate }),
      build: { version: manifest.version },
      onProgress: print,
      signal: ended,
    })
  } catch (error) {
    if (!ended.aborted) throw error
    return 0
  }
  const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(2)
  const { kubeconfig, url: server } = cluster
  print(`ready in ${seconds} s${options.isFolderShared ? '' : `: export KUBECONFIG=${kubeconfig}`}`)
  if (output === 'json') terminal.write(`${JSON.stringify({ kubeconfig, server })}\n`)
  if (!ended.aborted) await once(ended, 'abort')
  print('stopping')
  await cluster.stop()
  return 0
}

function storeSettings(flags: RunClusterOptions['flags']): StoreSettings {
  const { store = { type: 'embedded' }, 'quota-backend-bytes': quotaBytes } = flags
  if (store.type !== 'embedded') {
    if (quotaBytes !== undefined) throw new UsageError('--quota-backend-bytes requires --store embedded')
    return store
  }
  const { 'snapshot-interval': intervalMs = 3_600_000, 'snapshot-retention': retention = 24 } = flags
  const isScheduled = intervalMs > 0 && retention > 0
  return {
    ...store,
    ...(quotaBytes !== undefined && { quotaBytes }),
    ...(isScheduled && { snapshots: { intervalMs, retention } }),
  }
}

function nonNegative(number: number | undefined): number | undefined {
  return number === undefined || number < 0 ? undefined : number
}

function logLevel(verbosity: number): 'debug' | 'info' | 'warn' {
  return verbosity >= 4 ? 'debug' : verbosity >= 1 ? 'info' : 'warn'
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
