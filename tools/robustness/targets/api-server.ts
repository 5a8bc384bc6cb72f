import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { K8tsClient } from '../clients/k8ts-client.ts'
import { ServerProcess } from './server-process.ts'

export const program = fileURLToPath(new URL('../../../k8ts', import.meta.url))

export interface ApiServerOptions {
  readonly name: string
  /** `k8ts` command: the first API server of a cluster has the controllers. */
  readonly command: 'up' | 'apiserver'
  readonly folder: string
  readonly logFolder: string
  readonly address: string
  readonly port: number
  /** The value of `--store`. */
  readonly store: string
  /** Runs the command on a host. */
  readonly prefix: readonly string[]
  /** More flags. */
  readonly flags?: readonly string[]
}

/** `k8ts up` without nodes, or `k8ts apiserver`, as a process. */
export function apiServerProcess(options: ApiServerOptions): ServerProcess {
  const { name, command, folder, logFolder, address, port, store, prefix } = options
  const kubeconfig = kubeconfigOf(folder)
  const flags = ['--data-dir', folder, '--bind', address, '--port', String(port), '--store', store]
  const more = [...historyFlags, ...(options.flags ?? [])]
  return new ServerProcess({
    name,
    command: [...prefix, program, command, ...(command === 'up' ? ['--no-node'] : []), ...flags, ...more],
    // The faults are those of the process that is started here.
    environment: { K8TS_SUPERVISOR: 'off' },
    logFile: join(logFolder, `${name}.log`),
    isReady: async () => existsSync(kubeconfig) && isServing(kubeconfig),
  })
}

/** So short that watches and lists at older revisions expire. */
const historyFlags = ['--etcd-compaction-interval', '3s']

export function kubeconfigOf(folder: string): string {
  return join(folder, 'admin.conf')
}

/** True if it answers a consistent read. */
export async function isServing(kubeconfig: string): Promise<boolean> {
  await using client = await K8tsClient.open('probe', kubeconfig)
  return (await client.list({ match: 'consistent' }, probeTimeoutMs)) !== undefined
}

const probeTimeoutMs = 2_000
