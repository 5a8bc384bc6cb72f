/** Webhooks on loopback with their own certificate, and an API server that calls them. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { readAdmission, type AdmissionOptions } from '#/apiserver/admission.ts'
import { Audit, parseAuditPolicy } from '#/apiserver/audit.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { startTestServer, type AnyObject, type TestServer } from '#/apiserver/test-server.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { testCertificates, type TestCertificates } from '../http/test-certificates.ts'

/** The AdmissionReview request. */
export interface Review {
  readonly apiVersion: string
  readonly kind: string
  readonly request: ReviewRequest
}

type ReviewRequest = Readonly<Record<string, AnyObject>> &
  Readonly<Record<'uid' | 'operation', string>> &
  Readonly<Partial<Record<'name' | 'namespace' | 'subResource', string>>>

export interface Asked extends Review {
  readonly path: string
  readonly headers: IncomingMessage['headers']
}

/** The response without the uid, or a function that handles the connection itself. */
export type Answer = object | ((response: ServerResponse, review: Review) => void)

export interface Hook {
  readonly port: number
  readonly asked: Asked[]
  /** Client configuration for this server. */
  readonly clientConfig: (path?: string) => { readonly url: string; readonly caBundle: string }
}

export interface World extends TestServer {
  readonly hook: Hook
  /** The handlers, by path without the leading slash. */
  readonly answers: Map<string, (review: Review) => Answer>
  readonly metrics: Metrics
  /** Lines of the audit log. */
  readonly audited: readonly AnyObject[]
  readonly certificates: TestCertificates
  /** Creates a webhook configuration, and waits until the server's caches have it. */
  readonly configure: (kind: Kind, name: string, ...webhooks: readonly object[]) => Promise<void>
}

type Kind = 'mutating' | 'validating'

export interface WorldOptions {
  readonly platform?: Platform
  readonly admission?: AdmissionOptions
  readonly auditLevel?: 'Metadata' | 'Request'
}

function auditPolicy(level: string): string {
  return `{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: ${level}}]}`
}

/** Certificates are slow to create: all tests of a file share them. */
let made: Promise<TestCertificates> | undefined

export async function startWorld(t: TestContext, options: WorldOptions = {}): Promise<World> {
  made ??= testCertificates({ after: () => undefined }, ['hook.default.svc'])
  const certificates = await made
  const platform = options.platform ?? nodePlatform({ log: { level: 'error', format: 'text' } })
  const answers: World['answers'] = new Map()
  const hook = await startHook(t, certificates, answers)
  const metrics = new Metrics()
  const audited: AnyObject[] = []
  const server = await startTestServer(t, quiet(platform), {
    admission: await readAdmission(platform.files, { disable: ['ServiceAccount'], ...options.admission }),
    connectHttp,
    metrics,
    audit: new Audit({
      platform,
      policy: parseAuditPolicy(auditPolicy(options.auditLevel ?? 'Request')),
      backends: [
        {
          mode: 'batch',
          run: async () => undefined,
          record: line => void audited.push(JSON.parse(line) as AnyObject),
        },
      ],
    }),
  })
  const configure: World['configure'] = async (kind, name, ...webhooks) => {
    const body = configuration(
      kind,
      name,
      webhooks.map(webhook => ({ ...usual(hook), ...webhook })),
    )
    const answer = await server.request('POST', configurations(kind), body)
    if (answer.code !== 201) throw new Error(answer.text)
    await server.request('GET', '/api/v1/namespaces')
  }
  return { ...server, hook, answers, metrics, audited, certificates, configure }
}

/** A clock with timers that run ten times as fast. */
export function hurried(): Platform {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const { clock } = platform
  return {
    ...platform,
    clock: { ...clock, setTimer: (delayMs, onTime) => clock.setTimer(delayMs / 10, onTime) },
  }
}

/** Suppresses the log of requests that fail on purpose. */
function quiet(platform: Platform): Platform {
  const silent = (): void => undefined
  return { ...platform, log: { ...platform.log, error: silent, warn: silent } }
}

export function configurations(kind: Kind): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`
}

export function configuration(kind: Kind, name: string, webhooks: readonly object[]): object {
  return {
    kind: kind === 'mutating' ? 'MutatingWebhookConfiguration' : 'ValidatingWebhookConfiguration',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name },
    webhooks,
  }
}

/** A webhook for the creation of config maps, at the path `/`. */
export function usual(hook: Hook): object {
  return {
    name: 'a.example.com',
    clientConfig: hook.clientConfig(),
    rules: [rule('configmaps', ['CREATE'])],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
}

export function rule(resource: string, operations: readonly string[], group = '', version = 'v1'): object {
  return { operations, apiGroups: [group], apiVersions: [version], resources: [resource] }
}

async function startHook(
  t: TestContext,
  { ca, server }: TestCertificates,
  answers: World['answers'],
): Promise<Hook> {
  const asked: Asked[] = []
  const listener = createServer(
    { cert: server.cert, key: server.key, ca, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      void respond(request, response).catch(() => response.destroy())
    },
  )
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const review = JSON.parse(Buffer.concat(pieces).toString()) as Review
    const path = new URL(request.url ?? '/', 'https://localhost').pathname.slice(1)
    asked.push({ ...review, path: request.url ?? '', headers: request.headers })
    const answer = answers.get(path)?.(review) ?? { allowed: true }
    if (typeof answer === 'function') answer(response, review)
    else send(response, { ...reviewOf(review), response: { uid: review.request['uid'], ...answer } })
  }
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => {
    listener.closeAllConnections()
    listener.close()
  })
  const { port } = listener.address() as AddressInfo
  const caBundle = Buffer.from(ca).toString('base64')
  return {
    port,
    asked,
    clientConfig: (path = '') => ({ url: `https://127.0.0.1:${port}/${path}`, caBundle }),
  }
}

export function reviewOf({ apiVersion, kind }: Review): object {
  return { apiVersion, kind }
}

export function send(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof value === 'string' ? value : JSON.stringify(value))
}

/** The response of a mutating webhook with a JSON patch. */
export function patchWith(...operations: readonly object[]): object {
  const patch = Buffer.from(JSON.stringify(operations)).toString('base64')
  return { allowed: true, patchType: 'JSONPatch', patch }
}

export const configMaps = '/api/v1/namespaces/default/configmaps'

export function configMap(name: string, data: object = {}, metadata: object = {}): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name, ...metadata }, data }
}
