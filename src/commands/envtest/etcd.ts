/**
 * The `etcd` of the folder for envtest. envtest starts an etcd and waits until it is healthy before it starts
 * the API server; since that has its objects in memory, this program only answers the health checks.
 */
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { UsageError } from '#/base/flags.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { nodePlatform, serveHttp, terminationSignal } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'

export const etcdHelp = `Usage: etcd [FLAGS]

This etcd stores nothing: it only answers health checks. envtest waits for them before it starts kube-apiserver, which
has its objects in memory if it is the one of this folder. No other API server can use this etcd.

  --listen-client-urls URLS         where /health, /livez and /readyz are served (http://localhost:2379)
  --cert-file FILE                  serving certificate of https URLs
  --key-file FILE                   private key of --cert-file
  --unsafe-no-fsync                 no effect

All other flags of etcd are accepted and have no effect.
`

/** Runs until terminated. */
export async function runEtcd(parameters: readonly string[], terminal: Terminal): Promise<number> {
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const ended = terminationSignal({ deadlineMs: stopDeadlineMs })
  try {
    const flags = readEtcdFlags(parameters)
    for (const url of clientUrls(flags)) {
      await (url.protocol === 'https:' ? serveTls(platform, url, flags) : servePlain(platform, url))
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    terminal.writeError(`etcd: ${error.message}\n`)
    return 2
  }
  terminal.write('ready: this etcd only answers health checks\n')
  if (!ended.aborted) await once(ended, 'abort')
  return 0
}

const stopDeadlineMs = 1_000

/** Flags are `--name=value`, `--name value` or, if boolean, `--name`. */
export function readEtcdFlags(parameters: readonly string[]): ReadonlyMap<string, string> {
  const flags = new Map<string, string>()
  for (let index = 0; index < parameters.length; index++) {
    const [, name, value] = /^--?([a-z][a-z0-9-]*)(?:=([^]*))?$/.exec(parameters[index]!) ?? []
    if (name === undefined) throw new UsageError(`'${parameters[index]}' is not a valid flag`)
    const next = parameters[index + 1]
    const hasNext = value === undefined && next !== undefined && !next.startsWith('-')
    if (hasNext) index++
    flags.set(name, value ?? (hasNext ? next : 'true'))
  }
  return flags
}

/** Throws UsageError. */
export function clientUrls(flags: ReadonlyMap<string, string>): readonly URL[] {
  const texts = (flags.get('listen-client-urls') ?? 'http://localhost:2379').split(',')
  return texts.map(text => {
    const url = URL.parse(text)
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      throw new UsageError(`--listen-client-urls ${text}: must be an http or https URL`)
    }
    return url
  })
}

interface HealthResponse {
  readonly status: number
  readonly body: string
}

/** The response to a path: etcd is healthy as long as it runs. */
export function answerHealth(path: string): HealthResponse {
  switch (path.replace(/\?.*/, '')) {
    case '/health':
      return { status: 200, body: '{"health":"true","reason":""}' }
    case '/livez':
    case '/readyz':
      return { status: 200, body: 'ok\n' }
    default:
      return { status: 404, body: 'this etcd only answers health checks, see etcd --help\n' }
  }
}

async function serveTls(platform: Platform, url: URL, flags: ReadonlyMap<string, string>): Promise<void> {
  const readFlag = async (name: string): Promise<string> => {
    const file = flags.get(name)
    if (file === undefined) throw new UsageError(`--listen-client-urls ${url.href} requires --${name}`)
    return Buffer.from(await platform.files.read(file)).toString()
  }
  const cert = await readFlag('cert-file')
  const key = await readFlag('key-file')
  await serveHttp({
    ...addressOf(url),
    // Clients need no certificate; a CA is required by the server.
    tls: { cert, key, clientCa: cert },
    onExchange: (exchange: HttpExchange) => {
      const { status, body } = answerHealth(exchange.target)
      exchange.respond(status, { 'content-type': 'application/json' })
      exchange.end([Buffer.from(body)])
    },
  })
}

async function servePlain({ network }: Platform, url: URL): Promise<void> {
  await network.listen(addressOf(url), answerRequest)
}

/** One request without a body for each connection. */
function answerRequest(connection: Duplex): void {
  let head = ''
  connection.on('data', piece => {
    head += String(piece)
    if (head.length > headCharactersMax) return void connection.destroy()
    if (!head.includes('\r\n\r\n')) return
    const { status, body } = answerHealth(/^GET (\S+) HTTP\/1\.[01]\r\n/.exec(head)?.[1] ?? '')
    connection.end(
      `HTTP/1.1 ${status} ${status === 200 ? 'OK' : 'Not Found'}\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    )
  })
}

const headCharactersMax = 16 * 1024

function addressOf({ hostname, protocol, port }: URL): { readonly host: string; readonly port: number } {
  const host = hostname.replaceAll(/^\[|\]$/g, '')
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}
