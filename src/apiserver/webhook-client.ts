/** Calls webhooks by URL or by Service. Connections are reused per server and TLS configuration. */
import { posix } from 'node:path'
import type { WebhookClientConfig } from '#/api/generated/admissionregistration/v1.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import type { Credentials as ClientCredentials } from '#/kubeconfig/credentials.ts'
import type { WebhookCredentials } from '#/kubeconfig/webhook-kubeconfig.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'
import { RemoteServer, type RemoteResponse } from './remote-server.ts'
import type { PluginContext } from './admission/plugin-context.ts'
import { describeFailure, describeRefusal, WebhookCallError } from './webhook-failure.ts'
import { addressOfService } from './service-address.ts'

/** Versions of AdmissionReview and ConversionReview. */
export type ReviewVersion = 'v1' | 'v1beta1'

/** The first version that a webhook accepts and this server supports. */
export function reviewVersionOf(accepted: readonly string[]): ReviewVersion | undefined {
  return accepted.find(version => version === 'v1' || version === 'v1beta1')
}

export interface WebhookRequest {
  readonly body: JsonValue
  readonly timeoutSeconds: number
  readonly signal?: AbortSignal
  /** Headers of W3C Trace Context. */
  readonly traceHeaders?: Readonly<Record<string, string>>
}

type WebhookClientContext = Pick<PluginContext, 'platform' | 'cache' | 'connectHttp'>

export class WebhookClient {
  readonly #context: WebhookClientContext
  readonly #callers: () => Promise<WebhookCredentials>
  /** By origin and TLS configuration, least recently used first. */
  readonly #servers = new Map<string, RemoteServer>()

  constructor(context: WebhookClientContext, callers: () => Promise<WebhookCredentials>) {
    this.#context = context
    this.#callers = callers
  }

  /** Throws WebhookCallError. */
  async call(config: WebhookClientConfig, question: WebhookRequest): Promise<JsonValue> {
    const { body, timeoutSeconds, signal, traceHeaders } = question
    const target = targetOf(config)
    const path = `${target.path}?timeout=${timeoutSeconds}s`
    let address = target.host
    let answer: RemoteResponse
    try {
      address = target.service
        ? addressOfService(this.#context, this.#context.platform.random, target.service)
        : target.host
      const { tls, headers } = await this.#credentials(target, signal)
      answer = await this.#server(`https://${address}`, tls).request({
        path,
        headers: {
          ...traceHeaders,
          ...headers,
          'host': target.host,
          'user-agent': 'kube-apiserver-admission',
        },
        body: Buffer.from(stringifyJson(body)),
        timeoutMs: timeoutSeconds * 1_000,
        ...(signal && { signal }),
      })
    } catch (error) {
      const text = `Post ${quote(`https://${target.host}${path}`)}: ${describeFailure(error, address)}`
      throw failed(text, 503, error)
    }
    return read(answer)
  }

  close(): void {
    for (const server of this.#servers.values()) server.close()
    this.#servers.clear()
  }

  async #credentials(target: Target, signal = never): Promise<Credentials> {
    const credentials = credentialsFor(await this.#callers(), withPort(target.host))
    const { headers = {}, certificate } = (await credentials?.current(signal)) ?? {}
    const { ca, serverName } = target
    return { headers, tls: { serverName, ...(ca !== undefined && { ca }), ...certificate } }
  }

  #server(origin: string, tls: HttpClientTls): RemoteServer {
    const { platform, connectHttp } = this.#context
    if (connectHttp === undefined) throw new Error('outgoing HTTP is not configured')
    const key = JSON.stringify([origin, tls.serverName, ...[tls.ca, tls.cert, tls.key].map(textOf)])
    const known = this.#servers.get(key)
    this.#servers.delete(key)
    const server =
      known ??
      new RemoteServer({
        clock: platform.clock,
        connectHttp,
        origin,
        tls,
        answerBytesMax,
      })
    this.#servers.set(key, server)
    if (this.#servers.size > serversMax) this.#forgetOldest()
    return server
  }

  #forgetOldest(): void {
    for (const [key, server] of this.#servers) {
      this.#servers.delete(key)
      server.close()
      return
    }
  }
}

interface Credentials {
  readonly tls: HttpClientTls
  readonly headers: Readonly<Record<string, string | readonly string[]>>
}

/** Maximum number of servers with open connections; past it the least recently used one is closed. */
const serversMax = 200

/** Maximum response size: a base64-encoded patch can contain a whole object. */
const answerBytesMax = 8 * 1024 * 1024

const never = new AbortController().signal

interface Target {
  /** Includes the port if the URL has one. */
  readonly host: string
  /** Expected in the server's certificate. */
  readonly serverName: string
  readonly path: string
  readonly ca?: Uint8Array
  readonly service?: { readonly namespace: string; readonly name: string; readonly port: number }
}

function targetOf({ service, url, caBundle }: WebhookClientConfig): Target {
  const ca = caBundle ? { ca: Buffer.from(caBundle, 'base64') } : {}
  if (service) {
    const { namespace, name, port = 443, path = '' } = service
    const serverName = `${name}.${namespace}.svc`
    return {
      host: `${serverName}:${port}`,
      serverName,
      path: cleanPath(path),
      service: { namespace, name, port },
      ...ca,
    }
  }
  const parsed = URL.parse(url ?? '')
  if (!url || parsed === null) {
    const why = url ? 'Unparsable URL' : 'webhook configuration must have either service or URL'
    throw new WebhookCallError(`could not get REST client: ${why}`, 500)
  }
  const { host, hostname, pathname } = parsed
  return { host, serverName: hostname.replace(/^\[(.*)\]$/, '$1'), path: cleanPath(pathname), ...ca }
}

/** Without repeated and trailing slashes and dot segments, which Go's servers would redirect. */
function cleanPath(path: string): string {
  const joined = posix.join('/', path)
  return joined === '/' ? joined : joined.replace(/\/$/, '')
}

function withPort(host: string): string {
  return /:\d+$/.test(host) ? host : `${host}:443`
}

function textOf(content: Uint8Array | string | undefined): string {
  return content === undefined ? '' : Buffer.from(content).toString()
}

function read(answer: RemoteResponse): JsonValue {
  const { status, bytes, headers } = answer
  if (status < 200 || status > 206) throw failed(describeRefusal(answer), status)
  if (bytes.length === 0) {
    const type = headers['content-type'] ?? ''
    throw failed(`0-length response with status code: ${status} and content type: ${type}`, 503)
  }
  try {
    return parseJson(bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw failed(`couldn't get version/kind; json parse error: ${error.message}`, 503, error)
  }
}

function failed(why: string, code: number, cause?: unknown): WebhookCallError {
  return new WebhookCallError(`failed to call webhook: ${why}`, code, { cause, reason: why })
}

/**
 * Credentials for calls to a webhook: the kubeconfig user named after the webhook's host, or a wildcard match.
 * Looks up `web.example.com:8443`, then `*.example.com:8443` and so on; for port 443 also without the port.
 * Then the user `*`, then the user of the current context.
 */
export function credentialsFor(
  { users, current }: WebhookCredentials,
  hostAndPort: string,
): ClientCredentials | undefined {
  const bare = hostAndPort.endsWith(':443') ? hostAndPort.slice(0, -':443'.length) : undefined
  const names = [...namesFor(hostAndPort), ...(bare === undefined ? [] : namesFor(bare)), '*']
  for (const name of [...names, ...(current === undefined ? [] : [current])]) {
    const found = users.get(name)
    if (found) return found
  }
  return undefined
}

function namesFor(target: string): readonly string[] {
  const steps = target.split('.')
  return [target, ...steps.slice(1).map((_, index) => `*.${steps.slice(index + 1).join('.')}`)]
}
