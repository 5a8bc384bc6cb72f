/** Shared by the commands that run a control plane component as a process of its own. */
import { resolve } from 'node:path'
import type { BucketLimits } from '#/base/token-bucket.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { HealthCheck } from '#/component-base/health-checks.ts'
import { componentConnection, ComponentClients } from '#/cluster/component-clients.ts'
import {
  ComponentProcess,
  type ComponentElection,
  type RunnableComponent,
} from '#/cluster/component-process.ts'
import { readContent } from '#/kubeconfig/connection-settings.ts'
import type { Terminal } from '#/command-line/command.ts'
import {
  connectHttp,
  environmentVariables,
  machineNames,
  nodeCrypto,
  processUsage,
  serveHttp,
  type Platform,
} from '#/platform/node.ts'
import { servingOf, type ComponentFlags } from './component-flags.ts'

export interface RunComponentOptions {
  readonly platform: Platform
  readonly terminal: Terminal
  /** As in Kubernetes: `kube-scheduler`. */
  readonly name: string
  readonly flags: ComponentFlags
  /** Path; that of the flag overrides it. */
  readonly kubeconfig?: string | undefined
  readonly limits?: BucketLimits | undefined
  readonly election: ComponentElection | undefined
  readonly usualPort: number
  /** Ends the process. */
  readonly signal: AbortSignal
  readonly component: (parts: ComponentParts) => Promise<MakeComponent>
}

export interface ComponentParts {
  readonly client: Client
  readonly clients: ComponentClients
  /** Of the process, with the metrics of its clients. */
  readonly metrics: MetricsRegistry
  /** Authorities of the API server, PEM, if the kubeconfig has them. */
  readonly serverCa: string | undefined
}

type MakeComponent = (checks: readonly HealthCheck[]) => RunnableComponent

/** The process exits after this time when it is asked to stop. */
export const componentStopDeadlineMs = 10_000

/** Runs until asked to stop. Throws UsageError for what the flags cannot mean. */
export async function runComponent(options: RunComponentOptions): Promise<number> {
  const { platform, terminal, name, flags, usualPort, election, signal } = options
  const environment = environmentVariables()
  const connection = (path: string | undefined) =>
    componentConnection({ platform, path, environment, workingFolder: resolve() })
  const serving = await servingOf(flags, platform.files, usualPort)
  const settings = await connection(flags.kubeconfig ?? (options.kubeconfig || undefined))
  const metrics = new MetricsRegistry()
  const limits = requestLimits(flags) ?? options.limits
  await using clients = new ComponentClients({ platform, connectHttp, name, settings, metrics, limits })
  const other = async (path: string | undefined): Promise<Client | undefined> =>
    path === undefined ? undefined : clients.other(await connection(path))
  const client = await clients.main()
  const serverCa =
    settings.ca === undefined ? undefined : Buffer.from(await readContent(platform, settings.ca)).toString()
  const component = await options.component({ client, clients, metrics, serverCa })
  const process = new ComponentProcess({
    platform,
    machine: { serveHttp, usage: processUsage, crypto: nodeCrypto(), names: machineNames() },
    name,
    serving,
    election,
    client: await clients.election(),
    authenticationClient: await other(flags['authentication-kubeconfig']),
    authorizationClient: await other(flags['authorization-kubeconfig']),
    component,
    onListening: ({ host, port }) =>
      terminal.write(`${name}: serving health and metrics at ${host} port ${port}\n`),
  })
  await process.run(signal)
  return 0
}

function requestLimits(flags: ComponentFlags): BucketLimits | undefined {
  const { 'kube-api-qps': perSecond, 'kube-api-burst': burst = 30 } = flags
  return perSecond === undefined ? undefined : { perSecond, burst }
}
