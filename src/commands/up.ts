/** `k8ts up`: a cluster on this machine, until somebody ends it. */
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { parseIp } from '#/api/ip.ts'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import {
  describeFlags,
  oneValue,
  readFlags,
  text,
  toggle,
  UsageError,
  type Flag,
  type FlagValues,
} from '#/base/flags.ts'
import type { Cluster, StoreChoice } from '#/cluster.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import {
  connectHttp,
  homeFolder,
  loadGrpc,
  machineNames,
  nodeCrypto,
  nodePlatform,
  processUsage,
  serveHttp,
  terminationSignal,
} from '#/platform/node.ts'
import manifest from '../../package.json' with { type: 'json' }

const clusterFlags = {
  'no-node': toggle('no node on this machine; required, since nodes are not there yet'),
  'data-dir': oneValue('DIR', 'where the state is kept (~/.k8ts)', { parse: resolve, what: 'a folder' }),
  'bind': oneValue('ADDRESS', 'the address to listen at (127.0.0.1)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  'port': oneValue('N', 'the port of the API server (6443); 0 picks a free one', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 2 ** 16 ? Number(given) : undefined),
    what: 'a port',
  }),
  'store': oneValue('STORE', 'embedded (the default), memory, or etcd://HOST:PORT,HOST:PORT', {
    parse: parseStore,
    what: 'embedded, memory or etcd://...',
  }),
}

/** Parts of the contract that do not exist yet: they are refused, since to ignore them would be to pretend. */
const notYet: Readonly<Record<string, Flag<unknown>>> = {
  'nodes': text('N', ''),
  'runtime': text('NAME', ''),
  'simulated-nodes': text('N', ''),
  'detach': toggle(''),
}

const help = `Usage: k8ts up --no-node [FLAGS]

Runs the control plane of a cluster in this process and writes the administrator's kubeconfig to
DIR/admin.conf. SIGTERM or ctrl-C ends it and leaves the state in DIR.

${describeFlags(clusterFlags)}
The flags that follow are kube-apiserver's, and mean what they mean there. What a file says is checked before
anything starts.
${describeApiServerFlags()}
Examples:
  k8ts up --no-node --port 0 --store memory
      a cluster for one test, of which nothing is left
  k8ts up --no-node --audit-policy-file policy.yaml --audit-log-path /var/log/audit.log
      writes down who did what
  k8ts up --no-node --oidc-issuer-url https://id.example.com --oidc-client-id k8s --oidc-groups-claim groups
      takes tokens of a company's own issuer
  k8ts up --no-node --authorization-mode Node,RBAC,Webhook --authorization-webhook-config-file ask.kubeconfig
      asks a service whether somebody may do what no role allows
  k8ts up --no-node --store etcd://10.0.0.5:2379 --encryption-provider-config keys.yaml
      shares an etcd, and the keys of what is in it, with other servers
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = readFlags(parameters, { ...clusterFlags, ...apiServerFlags, ...notYet })
    const missing = Object.keys(notYet).find(name => name in flags)
    if (missing !== undefined) throw new UsageError(`--${missing} is not there yet`)
    if (!flags['no-node']) throw new UsageError('nodes are not there yet: use --no-node')
    return up(terminal, flags)
  },
}

type UpFlags = FlagValues<typeof clusterFlags & typeof apiServerFlags>

async function up(terminal: Terminal, flags: UpFlags): Promise<number> {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const { clock } = platform
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
        loadGrpc,
        crypto: nodeCrypto(),
        usage: processUsage,
        names: machineNames(),
      },
      folder: flags['data-dir'] ?? join(homeFolder(), '.k8ts'),
      host: flags.bind ?? '127.0.0.1',
      port: flags.port ?? 6443,
      store: flags.store ?? { type: 'embedded' },
      apiServer: flags,
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

/** SIGTERM ends everything within ten seconds, come what may. */
const stopDeadlineMs = 9_000

function parseStore(given: string): StoreChoice | undefined {
  if (given === 'embedded' || given === 'memory') return { type: given }
  const endpoints = /^etcd:\/\/(.+)$/.exec(given)?.[1]?.split(',')
  if (endpoints === undefined || !endpoints.every(endpoint => endpointForm.test(endpoint))) return undefined
  return { type: 'etcd', endpoints }
}

const endpointForm = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i
