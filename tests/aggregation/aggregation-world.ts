/** An API server on loopback with real TLS, and an extension server behind a Service of its cluster. */
import { request as httpsRequest } from 'node:https'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Audit, parseAuditPolicy } from '#/apiserver/audit.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { Server } from '#/apiserver/server.ts'
import type { AnyObject } from '#/apiserver/test-server.ts'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type ClusterCertificates,
  type KeyAndCertificate,
} from '#/kubeadm/certificates.ts'
import { connectHttp, nodeCrypto, nodePlatform, serveHttp } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { startExtensionServer, type ExtensionServer } from './extension-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const made = { platform, crypto: nodeCrypto() }

export interface Sent {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** The administrator when absent. */
  readonly user?: KeyAndCertificate
}

export interface Received {
  readonly code: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** Null if the body is not JSON. */
  readonly body: AnyObject
}

export interface AggregationWorld {
  readonly api: ApiServer
  readonly certificates: ClusterCertificates
  readonly extension: ExtensionServer
  readonly extensionCertificate: KeyAndCertificate
  /** Lines of the audit log. */
  readonly audited: readonly AnyObject[]
  readonly metrics: Metrics
  readonly send: (path: string, sent?: Sent) => Promise<Received>
  /** The request without its end, for streams. */
  readonly open: (path: string, sent?: Sent) => ClientRequest
  readonly issue: (username: string, ...groups: readonly string[]) => Promise<KeyAndCertificate>
  /** Creates the Service and EndpointSlice of the extension server. */
  readonly createService: () => Promise<void>
  /** Creates the APIService; `spec` replaces fields. */
  readonly register: (spec?: object, version?: string) => Promise<void>
  /** Status, reason and message of the Available condition. */
  readonly availability: (name?: string) => Promise<readonly string[]>
  readonly waitForAvailability: (reason: string, name?: string) => Promise<void>
}

export const apiServiceName = 'v1alpha1.wardle.example.com'
export const apiServicesPath = '/apis/apiregistration.k8s.io/v1/apiservices'
const namespaced = '/api/v1/namespaces/default'

/** The endpoint in the cluster, which is connected to the extension server on loopback. */
const endpoint = { address: '10.0.0.7', port: 6443 }

const auditPolicy =
  '{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: RequestResponse}]}'

/** Certificates are slow to create: all tests of a file share them. */
let shared: Promise<Certificates> | undefined

interface Certificates {
  readonly cluster: ClusterCertificates
  readonly serving: KeyAndCertificate
  readonly admin: KeyAndCertificate
}

async function makeCertificates(): Promise<Certificates> {
  const folder = await temporaryFolder({ after: () => undefined })
  const cluster = await ensureClusterCertificates({ ...made, folder: join(folder, 'pki'), serverNames: [] })
  const profile = {
    commonName: 'wardle',
    organizations: [],
    usage: 'server',
    names: ['wardle.default.svc'],
  } as const
  const serving = await ensureCertificate(made, { profile, ca: cluster.ca, existing: undefined })
  return { cluster, serving, admin: await issueFrom(cluster, 'admin', ['system:masters']) }
}

function issueFrom(
  { ca }: ClusterCertificates,
  commonName: string,
  organizations: readonly string[],
): Promise<KeyAndCertificate> {
  const profile = { commonName, organizations, usage: 'client', names: [] } as const
  return ensureCertificate(made, { profile, ca, existing: undefined })
}

export async function startWorld(t: TestContext): Promise<AggregationWorld> {
  shared ??= makeCertificates()
  const certificates = await shared
  const { cluster, serving } = certificates
  const extension = await startExtensionServer(t, { serving, frontProxyCa: cluster.frontProxyCa.cert })
  const audited: AnyObject[] = []
  const metrics = new Metrics()
  const { api, server } = await startApiServer(t, { cluster, extension, audited, metrics })
  const open: AggregationWorld['open'] = (path, { method = 'GET', headers = {}, user } = {}) => {
    const { port } = server.address
    const tls = { ca: cluster.ca.cert, agent: false, ...(user ?? certificates.admin) }
    return httpsRequest({
      host: '127.0.0.1',
      port,
      method,
      path,
      ...tls,
      headers: headers as Record<string, string>,
    })
  }
  const send: AggregationWorld['send'] = (path, sent = {}) => sendOver(open, path, sent)
  const availability: AggregationWorld['availability'] = async (name = apiServiceName) => {
    const { status, reason, message } = conditionIn((await send(`${apiServicesPath}/${name}`)).body)
    return [status, reason, message]
  }
  return {
    api,
    certificates: cluster,
    extension,
    extensionCertificate: serving,
    audited,
    metrics,
    send,
    open,
    issue: (username, ...groups) => issueFrom(cluster, username, groups),
    createService: () => createService(send),
    register: (spec = {}, version = 'v1alpha1') => {
      const caBundle = Buffer.from(cluster.ca.cert).toString('base64')
      return mustCreate(send, apiServicesPath, apiService(version, { caBundle, ...spec }))
    },
    availability,
    waitForAvailability: (reason, name) => waitUntil(async () => (await availability(name))[1] === reason),
  }
}

interface Servers {
  readonly cluster: ClusterCertificates
  readonly extension: ExtensionServer
  readonly audited: AnyObject[]
  readonly metrics: Metrics
}

async function startApiServer(
  t: TestContext,
  { cluster, extension, audited, metrics }: Servers,
): Promise<{ readonly api: ApiServer; readonly server: Server }> {
  const { ca, frontProxyCa, frontProxyClient, apiServer } = cluster
  const store = await MemoryStore.open({ platform })
  const record = (line: string): undefined => void audited.push(JSON.parse(line) as AnyObject)
  const api = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    servesResourceMetrics: true,
    authentication: {
      certificates: { authorities: ca.cert },
      frontProxy: { authorities: frontProxyCa.cert, allowedNames: ['front-proxy-client'] },
    },
    proxyClient: () => frontProxyClient,
    metrics,
    limits: { fairness: 'priority and fairness', readOnly: 400, mutating: 200 },
    audit: new Audit({
      platform,
      policy: parseAuditPolicy(auditPolicy),
      backends: [{ mode: 'blocking', run: async () => undefined, record }],
    }),
    connectHttp: options => {
      const isEndpoint = options.origin === `https://${endpoint.address}:${endpoint.port}`
      return connectHttp({ ...options, ...(isEndpoint && { origin: `https://127.0.0.1:${extension.port}` }) })
    },
  })
  const tls = { ...apiServer, clientCa: `${ca.cert}${frontProxyCa.cert}` }
  const server = await Server.start({
    platform,
    serveHttp,
    host: '127.0.0.1',
    port: 0,
    handle: api.handle,
    tls,
  })
  t.after(async () => {
    await server.stop(1_000)
    await api.stop()
    await store[Symbol.asyncDispose]()
  })
  return { api, server }
}

function apiService(version: string, spec: object): object {
  return {
    metadata: { name: `${version}.wardle.example.com` },
    spec: {
      group: 'wardle.example.com',
      version,
      groupPriorityMinimum: 2_000,
      versionPriority: 200,
      service: { namespace: 'default', name: 'wardle', port: 7443 },
      ...spec,
    },
  }
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

function conditionIn(apiService: AnyObject): Omit<Condition, 'type'> {
  const { status } = apiService as unknown as {
    readonly status?: { readonly conditions?: readonly Condition[] }
  }
  const found = status?.conditions?.find(({ type }) => type === 'Available')
  return found ?? { status: '', reason: '', message: '' }
}

async function createService(send: AggregationWorld['send']): Promise<void> {
  await mustCreate(send, `${namespaced}/services`, {
    metadata: { name: 'wardle' },
    spec: { ports: [{ name: 'https', port: 7443, targetPort: endpoint.port }] },
  })
  await mustCreate(send, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name: 'wardle-1', labels: { 'kubernetes.io/service-name': 'wardle' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [endpoint.address], conditions: { ready: true } }],
    ports: [{ name: 'https', port: endpoint.port, protocol: 'TCP' }],
  })
}

async function mustCreate(send: AggregationWorld['send'], path: string, body: object): Promise<void> {
  const answer = await send(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  if (answer.code !== 201) throw new Error(`${path}: ${answer.text}`)
}

async function sendOver(open: AggregationWorld['open'], path: string, sent: Sent): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>()
  const request = open(path, sent)
  request.on('error', reject).on('response', response => {
    text(response).then(content => {
      const { statusCode: code = 0, headers } = response
      resolve({ code, headers, text: content, body: parse(content) })
    }, reject)
  })
  const { body } = sent
  request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  return promise
}

function parse(content: string): AnyObject {
  try {
    return JSON.parse(content) as AnyObject
  } catch {
    return null as unknown as AnyObject
  }
}
