/** The server over loopback with TLS; the API server behind it authenticates tokens and authorizes with RBAC. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type ClusterCertificates,
} from '#/kubeadm/certificates.ts'
import { administrator, controllerManager, userOf } from '#/kubeadm/identities.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'
import { readWholeBody } from '#/platform/http-client.ts'
import { connectHttp, nodeCrypto, nodePlatform, processUsage, serveHttp } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { SecureServer } from '#/component-base/secure-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const crypto = nodeCrypto()

test('metrics need a token or certificate with access to the path; health is open', async t => {
  const world = await start(t)
  const reader = await world.tokenOf('reader')
  const other = await world.tokenOf('other')
  await world.grant('reader', ['/metrics', '/metrics/slis'])
  const check = async (path: string, as: As, status: number): Promise<string> => {
    const response = await world.get(path, as)
    assert.equal(response.status, status, `${path}: ${response.text}`)
    return response.text
  }
  assert.equal(await check('/healthz', {}, 200), 'ok')
  assert.deepEqual(
    JSON.parse(await check('/metrics', {}, 403)),
    status(403, 'Forbidden', 'forbidden: User "system:anonymous" cannot get path "/metrics"', {}),
  )
  const denied = JSON.parse(await check('/metrics', { token: other }, 403)) as { message: string }
  assert.equal(
    denied.message,
    'forbidden: User "system:serviceaccount:default:other" cannot get path "/metrics"',
  )
  assert.deepEqual(
    JSON.parse(await check('/metrics', { token: 'wrong' }, 401)),
    status(401, 'Unauthorized', 'Unauthorized'),
  )
  await check('/healthz', { token: 'wrong' }, 401)
  const metrics = await check('/metrics', { token: reader }, 200)
  assert.match(metrics, /^syncs_total 3$/m)
  assert.match(metrics, /^process_start_time_seconds /m)
  await check('/configz', { token: reader }, 403)
  await check('/missing', { token: reader }, 403)
  const tls = await world.clientCertificate()
  assert.equal(await check('/configz', { tls }, 200), '{"componentconfig":{"parallelism":16}}')
  assert.equal(await check('/missing', { tls }, 404), '404 page not found\n')
  assert.match(await check('/metrics/resources', { tls }, 200), /^pods 2$/m)
})

test('health checks are listed, may be excluded, and are counted at /metrics/slis', async t => {
  const world = await start(t)
  const tls = await world.clientCertificate()
  const text = async (path: string): Promise<string> => (await world.get(path, { tls })).text
  assert.equal(await text('/readyz?verbose'), '[+]informer-sync ok\nreadyz check passed\n')
  world.failure = 'not synced'
  assert.equal(await text('/readyz'), '[-]informer-sync failed: reason withheld\nreadyz check failed\n')
  assert.equal(await text('/readyz/informer-sync'), 'internal server error: not synced\n')
  assert.equal(
    await text('/readyz?verbose&exclude=informer-sync&exclude=x'),
    '[+]informer-sync excluded: ok\n' +
      'warn: some health checks cannot be excluded: no matches for "x"\n' +
      'readyz check passed\n',
  )
  assert.equal(await text('/healthz?verbose'), '[+]ping ok\nhealthz check passed\n')
  assert.equal((await world.get('/livez', {})).status, 404)
  const slis = await text('/metrics/slis')
  assert.match(slis, /^kubernetes_healthcheck\{name="informer-sync",type="readyz"\} 0$/m)
  assert.match(slis, /^kubernetes_healthcheck\{name="ping",type="healthz"\} 1$/m)
  for (const result of ['success', 'error']) {
    const line = `kubernetes_healthchecks_total{name="informer-sync",status="${result}",type="readyz"} 1`
    assert.ok(slis.includes(`${line}\n`), slis)
  }
})

interface As {
  readonly token?: string
  readonly tls?: Pick<HttpClientTls, 'cert' | 'key'>
}

class World {
  failure: string | undefined
  readonly #client: Client
  readonly #certificates: ClusterCertificates
  #url = ''

  constructor(client: Client, certificates: ClusterCertificates) {
    this.#client = client
    this.#certificates = certificates
  }

  async serve(client: Client): Promise<SecureServer> {
    const { ca, apiServer } = this.#certificates
    const metrics = new MetricsRegistry()
    metrics.counter({ name: 'syncs_total', help: 'Syncs.' }).with().add(3)
    const resources = new MetricsRegistry()
    resources.gauge({ name: 'pods', help: 'Pods.' }).with().add(2)
    const server = await SecureServer.start({
      platform,
      serveHttp,
      host: '127.0.0.1',
      port: 0,
      tls: { ...apiServer, clientCa: ca.cert },
      authenticationClient: client,
      authorizationClient: client,
      metrics,
      moreMetrics: { '/metrics/resources': resources },
      usage: processUsage,
      health: { healthz: [], readyz: [{ name: 'informer-sync', check: () => this.failure }] },
      configz: () => ({ componentconfig: { parallelism: 16 } }),
    })
    this.#url = `https://127.0.0.1:${server.address.port}`
    return server
  }

  async tokenOf(name: string): Promise<string> {
    const at = { namespace: 'default', name }
    await this.#client.create(serviceAccounts, { metadata: at })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const answer = await this.#client.createSubresource<object>(
      serviceAccounts,
      { ...at, subresource: 'token' },
      request,
    )
    return (answer as { readonly status: { readonly token: string } }).status.token
  }

  async grant(name: string, nonResourceURLs: readonly string[]): Promise<void> {
    const rules = [{ nonResourceURLs: [...nonResourceURLs], verbs: ['get'] }]
    await this.#client.create(clusterRoles, { metadata: { name }, rules })
    await this.#client.create(clusterRoleBindings, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    })
  }

  /** Of the administrator. */
  async clientCertificate(): Promise<Pick<HttpClientTls, 'cert' | 'key'>> {
    const { ca } = this.#certificates
    return ensureCertificate({ platform, crypto }, { profile: administrator, ca, existing: undefined })
  }

  async get(path: string, { token, tls }: As): Promise<{ readonly status: number; readonly text: string }> {
    await using client = connectHttp({ origin: this.#url, tls: { ca: this.#certificates.ca.cert, ...tls } })
    const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const response = await client.request({ method: 'GET', path, headers })
    const body = await readWholeBody(response.body)
    return { status: response.status, text: Buffer.from(body).toString() }
  }
}

async function start(t: TestContext): Promise<World> {
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  const folder = await temporaryFolder(t)
  const certificates = await ensureClusterCertificates({ platform, crypto, folder, serverNames: [] })
  const { ca, serviceAccounts: keys } = certificates
  const store = stack.use(await MemoryStore.open({ platform }))
  const api = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    authentication: {
      certificates: { authorities: ca.cert },
      serviceAccounts: { url: 'https://issuer', signingKey: keys.privateKey },
    },
  })
  stack.defer(() => api.stop())
  const clientAs = (user: typeof administrator): Client => {
    const transport = inProcessTransport({ handle: api.handle, user: userOf(user) })
    return clientOf({ platform, transport, userAgent: 'test' })
  }
  const world = new World(clientAs(administrator), certificates)
  const server = await world.serve(clientAs(controllerManager))
  stack.defer(() => server.stop(0))
  return world
}

function status(code: number, reason: string, message: string, details?: object): object {
  const base = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }
  return details === undefined ? base : { ...base, details }
}
