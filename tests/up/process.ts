/** `k8ts up` as a separate process, and a client authenticated as the administrator or as another user. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

export const script: string = fileURLToPath(new URL('../../k8ts', import.meta.url))

export interface Running extends AdminClient {
  readonly child: ChildProcess
  /** Output of both streams so far. */
  readonly output: () => string
}

export interface AdminClient {
  readonly url: URL
  /** PEM. */
  readonly certificate: { readonly cert: string; readonly key: string }
  readonly open: (path: string, options?: RequestOptions, body?: string) => Promise<IncomingMessage>
  readonly ask: (path: string, options?: RequestOptions, body?: string) => Promise<Answered>
  /** Authenticates with these headers and without a certificate; a body is posted as JSON. */
  readonly askAs: (
    headers: Readonly<Record<string, string>>,
    path: string,
    body?: unknown,
  ) => Promise<Answered>
}

export interface Answered {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

/** Starts `k8ts apiserver` with flags, separated by spaces, and waits until it is ready. */
export async function up(
  t: Pick<TestContext, 'after'>,
  folder: string,
  ...flags: readonly string[]
): Promise<Running> {
  const words = flags.flatMap(each => each.split(' '))
  const child = spawn(script, ['apiserver', '--data-dir', folder, '--port', '0', ...words])
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', chunk => {
    output += chunk
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', chunk => {
      output += chunk
      if (/^ready in /m.test(output)) resolve()
    })
    child.once('exit', () => reject(new Error(`it ended before it was ready: ${output}`)))
  })
  return { child, output: () => output, ...(await adminClient(folder)) }
}

/** Authenticated with the kubeconfig of the cluster in this folder. */
export async function adminClient(folder: string): Promise<AdminClient> {
  const kubeconfig = await readFile(join(folder, 'admin.conf'), 'utf8')
  const field = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(kubeconfig)![1]!
  const pem = (name: string): string => Buffer.from(field(name), 'base64').toString()
  const url = new URL(field('server'))
  const ca = pem('certificate-authority-data')
  const certificate = { cert: pem('client-certificate-data'), key: pem('client-key-data') }
  const open: Running['open'] = async (path, options = {}, body) => {
    const request = httpsRequest(new URL(path, url), { ca, ...certificate, agent: false, ...options })
    request.end(body)
    const [response] = await once(request, 'response')
    return response
  }
  const ask: Running['ask'] = async (...question) => {
    const response = await open(...question)
    return { status: response.statusCode!, text: await textOf(response), headers: response.headers }
  }
  const askAs: Running['askAs'] = (headers, path, body) => {
    const nobody = { cert: undefined, key: undefined }
    if (body === undefined) return ask(path, { ...nobody, headers })
    const options = { ...nobody, method: 'POST', headers: { ...json, ...headers } }
    return ask(path, options, JSON.stringify(body))
  }
  return { url, certificate, open, ask, askAs }
}

const json = { 'content-type': 'application/json' }

/** Authenticated as the administrator. */
export async function post(
  { ask }: Pick<AdminClient, 'ask'>,
  path: string,
  body: unknown,
): Promise<Answered> {
  return ask(path, { method: 'POST', headers: json }, JSON.stringify(body))
}

/** The user that the server authenticates from these headers. */
export async function whoAmI(
  { askAs }: Running,
  headers: Readonly<Record<string, string>>,
): Promise<unknown> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const { status, text } = await askAs(headers, '/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
  if (status !== 201) return status
  const answer = JSON.parse(text) as { readonly status: { readonly userInfo: unknown } }
  return answer.status.userInfo
}

export async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString()
}

/** The exit code; null after SIGKILL. */
export async function stop(
  { child }: Running,
  signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL',
): Promise<number | null> {
  child.kill(signal)
  const [code] = await once(child, 'exit')
  return code as number | null
}

/** Runs `k8ts up` until it exits. */
export function run(...parameters: readonly string[]) {
  return spawnSync(script, ['up', ...parameters], { encoding: 'utf8' })
}
