/** `k8ts up`: a cluster on this machine, until somebody ends it. */
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { parseIp } from '#/api/ip.ts'
import type { Cluster, StoreChoice } from '#/cluster.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import {
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

const help = `Usage: k8ts up --no-node [--data-dir DIR] [--bind ADDRESS] [--port N] [--store STORE]

Runs the control plane of a cluster in this process and writes the administrator's kubeconfig to
DIR/admin.conf. SIGTERM or ctrl-C ends it and leaves the state in DIR.

  --no-node         no node on this machine; required, since nodes are not there yet
  --data-dir DIR    where the state is kept (~/.k8ts)
  --bind ADDRESS    the address to listen at (127.0.0.1)
  --port N          the port of the API server (6443); 0 picks a free one
  --store STORE     embedded (the default), memory, or etcd://HOST:PORT,HOST:PORT
`

/**
 * Parts of the contract that do not exist yet: they are refused, since to ignore them would be to pretend.
 */
const notYet = {
  'nodes': { type: 'string' },
  'runtime': { type: 'string' },
  'simulated-nodes': { type: 'string' },
  'detach': { type: 'boolean' },
} as const

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { values } = parseArgs({
      args: [...parameters],
      options: {
        'no-node': { type: 'boolean', default: false },
        'data-dir': { type: 'string' },
        'bind': { type: 'string', default: '127.0.0.1' },
        'port': { type: 'string', default: '6443' },
        'store': { type: 'string', default: 'embedded' },
        ...notYet,
      },
    })
    const missing = Object.keys(notYet).find(name => name in values)
    if (missing !== undefined) return refuse(terminal, `--${missing} is not there yet`)
    if (!values['no-node']) return refuse(terminal, 'nodes are not there yet: use --no-node')
    const host = parseIp(values.bind) === undefined ? undefined : values.bind
    if (host === undefined) return refuse(terminal, `--bind ${values.bind}: not an address`)
    const port = parsePort(values.port)
    if (port === undefined) return refuse(terminal, `--port ${values.port}: not a port`)
    const store = parseStore(values.store)
    if (store === undefined)
      return refuse(terminal, `--store ${values.store}: not embedded, memory or etcd://...`)
    const folder = resolve(values['data-dir'] ?? join(homeFolder(), '.k8ts'))
    return up(terminal, { host, port, store, folder })
  },
}

interface Wanted {
  readonly host: string
  readonly port: number
  readonly store: StoreChoice
  readonly folder: string
}

async function up(terminal: Terminal, wanted: Wanted): Promise<number> {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const { clock } = platform
  const startedMs = clock.monotonicMs()
  const ended = terminationSignal({ deadlineMs: stopDeadlineMs })
  let cluster: Cluster
  try {
    const { Cluster } = await import('#/cluster.ts')
    cluster = await Cluster.start({
      ...wanted,
      platform,
      machine: { serveHttp, loadGrpc, crypto: nodeCrypto(), usage: processUsage, names: machineNames() },
      build: { version: manifest.version },
      onProgress: text => terminal.write(`${text}\n`),
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

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) < 2 ** 16 ? Number(text) : undefined
}

function parseStore(text: string): StoreChoice | undefined {
  if (text === 'embedded' || text === 'memory') return { type: text }
  const endpoints = /^etcd:\/\/(.+)$/.exec(text)?.[1]?.split(',')
  if (endpoints === undefined || !endpoints.every(endpoint => endpointForm.test(endpoint))) return undefined
  return { type: 'etcd', endpoints }
}

const endpointForm = /^(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}$/i

function refuse(terminal: Terminal, text: string): number {
  terminal.writeError(`k8ts up: ${text}\nSee k8ts up --help\n`)
  return 2
}
