/**
 * A minimal API server for one pod, `default/web`. Clients reach this project's streaming servers over real
 * connections. By default the pod's commands are local processes and its ports are loopback ports; the test
 * may override both.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import type { HttpExchange } from '#/platform/http.ts'
import { nodePlatform, serveHttp } from '#/platform/node.ts'
import { acceptCommand } from '#/streams/command-server.ts'
import { acceptPortForward } from '#/streams/port-forward-server.ts'
import { runCommand } from '#/streams/run-command.ts'
import { runPortForward } from '#/streams/run-port-forward.ts'
import type { CommandOptions, CommandProcess, CommandResult, TerminalSize } from '#/streams/streams.ts'
import { testCertificates } from '../http/test-certificates.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })

export interface PodServer {
  readonly port: number
  readonly ca: string
  /** Path of the kubeconfig. */
  readonly kubeconfig: string
  /** The result of each command, as seen by the server. */
  readonly results: CommandResult[]
  /** Sizes of all terminals. */
  readonly sizes: TerminalSize[]
  /** The protocol negotiated with each client. */
  readonly protocols: string[]
}

export interface PodContent {
  exec(command: readonly string[], options: CommandOptions): Promise<CommandProcess>
  attach(options: CommandOptions): Promise<CommandProcess>
  connect(port: number): Promise<Duplex>
}

export async function startPodServer(t: TestContext, content?: PodContent): Promise<PodServer> {
  const certificates = await testCertificates(t)
  const seen = { results: [] as CommandResult[], sizes: [] as TerminalSize[], protocols: [] as string[] }
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    tls: { ...certificates.server, clientCa: certificates.ca },
    onExchange: exchange => void answer(exchange, content ?? machine(seen.sizes), seen),
  })
  t.after(() => server.stop(0))
  const { port } = server.address
  const kubeconfig = join(await temporaryFolder(t), 'kubeconfig')
  const authority = Buffer.from(certificates.ca).toString('base64')
  await writeFile(kubeconfig, kubeconfigOf(`https://127.0.0.1:${port}`, authority))
  return { port, ca: certificates.ca, kubeconfig, ...seen }
}

type Seen = Pick<PodServer, 'results' | 'sizes' | 'protocols'>

async function answer(exchange: HttpExchange, content: PodContent, seen: Seen): Promise<void> {
  const { pathname, searchParams: query } = new URL(exchange.target, 'https://server')
  const resource = resources[pathname]
  if (resource !== undefined) return send(exchange, 200, resource)
  const subresource = /^\/api\/v1\/namespaces\/default\/pods\/web\/(\w+)$/.exec(pathname)?.[1]
  if (subresource === 'portforward') return forward(exchange, query, content)
  if (subresource !== 'exec' && subresource !== 'attach') return send(exchange, 404, notFound)
  const isSet = (name: string): boolean => /^(1|true)$/.test(query.get(name) ?? '')
  const tty = isSet('tty')
  const options = { stdin: isSet('stdin'), stdout: isSet('stdout'), stderr: isSet('stderr') && !tty, tty }
  const { headers } = exchange
  seen.protocols.push(
    `${headers['upgrade']} ${headers['sec-websocket-protocol'] ?? headers['x-stream-protocol-version']}`,
  )
  const client = await acceptCommand({ exchange, options, clock })
  if (client === undefined) return
  const start = (): Promise<CommandProcess> =>
    subresource === 'exec' ? content.exec(query.getAll('command'), options) : content.attach(options)
  seen.results.push(await runCommand({ client, start }))
}

async function forward(exchange: HttpExchange, query: URLSearchParams, content: PodContent): Promise<void> {
  const ports = new URLSearchParams(query.getAll('ports').map(port => ['port', port]))
  const client = await acceptPortForward({ exchange, query: ports, clock })
  if (client === undefined) return
  const describeFailure = (port: number, error: Error): string =>
    `error forwarding port ${port}: ${error.message}`
  await runPortForward({ client, connect: port => content.connect(port), describeFailure })
}

function machine(sizes: TerminalSize[]): PodContent {
  return {
    exec: async command => startProcess(command, sizes),
    attach: async () => startProcess(['cat'], sizes),
    connect: async port => {
      const socket = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true })
      await once(socket, 'connect')
      return socket
    },
  }
}

/** Uses pipes instead of a terminal, but records its sizes. */
function startProcess(
  [program = '', ...parameters]: readonly string[],
  sizes: TerminalSize[],
): CommandProcess {
  const child = spawn(program, parameters, { stdio: 'pipe' })
  child.stdin.on('error', () => undefined)
  const ended = new Promise<CommandResult>(resolve => {
    child.once('error', error => resolve({ type: 'failed', message: error.message }))
    child.once('close', code => resolve({ type: 'exited', code: code ?? 137 }))
  })
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    result: ended,
    writeStdin: async bytes => {
      if (!child.stdin.write(bytes)) await Promise.race([once(child.stdin, 'drain'), ended])
    },
    endStdin: () => child.stdin.end(),
    resize: size => void sizes.push(size),
    [Symbol.asyncDispose]: async () => void child.kill('SIGKILL'),
  }
}

function send(exchange: HttpExchange, status: number, value: object): void {
  exchange.respond(status, { 'content-type': 'application/json' })
  exchange.end([Buffer.from(JSON.stringify(value))])
}

const notFound = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }

const resources: Readonly<Record<string, object>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    groupVersion: 'v1',
    resources: [{ name: 'pods', singularName: 'pod', namespaced: true, kind: 'Pod', verbs: ['get', 'list'] }],
  },
  '/api/v1/namespaces/default/pods/web': {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'web', namespace: 'default' },
    spec: { containers: [{ name: 'main', image: 'none', stdin: true }] },
    status: { phase: 'Running' },
  },
}

function kubeconfigOf(server: string, authority: string): string {
  return JSON.stringify({
    'apiVersion': 'v1',
    'kind': 'Config',
    'current-context': 'test',
    'clusters': [{ name: 'test', cluster: { server, 'certificate-authority-data': authority } }],
    'users': [{ name: 'test', user: { token: 'none' } }],
    'contexts': [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  })
}
