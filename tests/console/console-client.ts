/** A console in this process, and requests to it as any program on the machine can make them. */
import { mkdir, writeFile } from 'node:fs/promises'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { connectConsoleCluster } from '#/commands/console-cluster.ts'
import { serveConsole, type ConsoleServer } from '#/console/console-server.ts'
import { nodePlatform } from '#/platform/node.ts'
import { serveLocalHttp } from '#/platform/short-lived.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface RequestParts {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface ConsoleClient {
  readonly server: ConsoleServer
  readonly ask: (path: string, parts?: RequestParts) => Promise<Answer>
  /** Resolves when the headers have arrived. */
  readonly open: (path: string, parts?: RequestParts) => Promise<IncomingMessage>
  /** Signs in with a new link, and returns the session token. */
  readonly signIn: () => Promise<string>
}

export interface ConsoleClientOptions {
  readonly kubeconfig: string
  /** An empty one, for the page. */
  readonly folder: string
}

const page = '<!doctype html><meta name="style-nonce" content="STYLE_NONCE"><script src="main.js"></script>'

export async function startConsole(
  t: Pick<TestContext, 'after'>,
  { kubeconfig, folder }: ConsoleClientOptions,
): Promise<ConsoleClient> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const pageFolder = join(folder, 'page')
  await mkdir(pageFolder)
  await writeFile(join(pageFolder, 'index.html'), page)
  await writeFile(join(pageFolder, 'main-ABCDEFGH.js'), 'run()')
  await writeFile(join(folder, 'secret-ABCDEFGH.js'), 'secret')
  const server = await serveConsole({
    platform,
    serve: serveLocalHttp,
    port: 0,
    connect: () => connectConsoleCluster(platform, { kubeconfig }),
    preparePage: async () => pageFolder,
  })
  t.after(() => server[Symbol.asyncDispose]())
  const open: ConsoleClient['open'] = async (path, { method = 'GET', headers = {}, body } = {}) => {
    const sent = request({ host: '127.0.0.1', port: server.port, path, method, headers, agent: false })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }
  const ask: ConsoleClient['ask'] = async (path, parts) => {
    const response = await open(path, parts)
    return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) }
  }
  return {
    server,
    open,
    ask,
    async signIn() {
      const answer = await ask('/session', postToken(tokenOf(server.newLink())))
      return (JSON.parse(answer.text) as { readonly sessionToken: string }).sessionToken
    },
  }
}

export function tokenOf(link: string): string {
  return new URLSearchParams(new URL(link).hash.slice(1)).get('token') ?? ''
}

export function postToken(token: string): RequestParts {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', headers, body: JSON.stringify({ token }) }
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** The subprotocol by which a WebSocket has the rights of a session. */
export function tokenProtocol(token: string): string {
  return `base64url.bearer.authorization.k8ts.io.${Buffer.from(token).toString('base64url')}`
}
