/** Shared by the commands that run a cluster, or only its API server, in this process. */
import { once } from 'node:events'
import { parseIp } from '#/api/net/ip.ts'
import type { apiServerFlags } from '#/apiserver/flags.ts'
import { valueFlag, integerFlag, type FlagValues } from '#/base/flags.ts'
import type { Cluster, ControlPlaneSettings, StoreSettings } from '#/cluster.ts'
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
  processUsage,
  serveHttp,
  terminationSignal,
} from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import manifest from '../../package.json' with { type: 'json' }

/** Flags of all commands that run an API server. */
export const clusterFlags = {
  ...dataFolderFlag,
  bind: valueFlag('ADDRESS', 'address to listen on (default 127.0.0.1)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  port: valueFlag('N', 'port of the API server (default 6443); 0 selects a free port', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 2 ** 16 ? Number(given) : undefined),
    what: 'a port',
  }),
  store: valueFlag('STORE', 'embedded (default), memory, or etcd://HOST:PORT,HOST:PORT', {
    parse: parseStore,
    what: 'embedded, memory or etcd://...',
  }),
  v: integerFlag('N', 'log verbosity: 0 warnings (default), 2 info, 4 debug'),
}

export interface RunClusterOptions {
  readonly flags: FlagValues<typeof clusterFlags & typeof apiServerFlags>
  /** The control plane components beside the API server; none when absent. */
  readonly controlPlane?: ControlPlaneSettings
}

/** Runs until the process receives a termination signal. */
export async function runCluster(terminal: Terminal, options: RunClusterOptions): Promise<number> {
  const { flags, controlPlane } = options
  const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
  const { clock } = platform
  using _ = collectGarbageWhenIdle(clock)
  const startedMs = clock.monotonicMs()
  const ended = terminationSignal({ deadlineMs: stopDeadlineMs })
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
        names: machineNames(),
        pid: processId(),
        startedMs: clock.now(),
      },
      folder: dataFolder(flags),
      host: flags.bind ?? '127.0.0.1',
      port: flags.port ?? 6443,
      store: flags.store ?? { type: 'embedded' },
      apiServer: flags,
      ...(controlPlane && { controlPlane }),
      build: { version: manifest.version },
      onProgress: line => terminal.write(`${line}\n`),
      signal: ended,
    })
  } catch (error) {
    if (!ended.aborted) throw error
    return 0
  }
  const seconds = ((clock.monotonicMs() - startedMs) / 1_000).toFixed(2)
  terminal.write(`ready in ${seconds} s: export KUBECONFIG=${cluster.kubeconfig}\n`)
  if (!ended.aborted) await once(ended, 'abort')
  terminal.write('stopping\n')
  await cluster.stop()
  return 0
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
