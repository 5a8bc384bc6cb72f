/**
 * Authorization for access to nodes and pods, through the API server and directly at the kubelet's server.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { PolicyRule, Subject } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { namespaces, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { TokenRequest } from '#/api/generated/authentication/v1.ts'
import { Audit, type AuditBackend } from '#/apiserver/audit.ts'
import { nodePlatform } from '#/platform/node.ts'
import { ask, certificateOf, webSocket, type RawAnswer } from './raw-upgrade.ts'
import { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

interface AuditEvent {
  readonly stage: string
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly subresource?: string }
  readonly responseStatus?: { readonly code: number }
}

const recorded: AuditEvent[] = []
const backend: AuditBackend = {
  mode: 'batch',
  record: line => void recorded.push(JSON.parse(line) as AuditEvent),
  run: async () => undefined,
}

describe('access', async () => {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const policy = { rules: [{ level: 'Metadata' }] } as unknown as ConstructorParameters<
    typeof Audit
  >[0]['policy']
  const cluster = await StreamingCluster.start(
    { after },
    { audit: new Audit({ platform, policy, backends: [backend] }) },
  )
  const { client, node } = cluster
  const api = cluster.server.address.port
  const kubelet = cluster.kubelet.address.port
  await node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
  const pod = '/api/v1/namespaces/default/pods/web'

  const allow = async (name: string, subject: Subject, ...rules: readonly PolicyRule[]): Promise<void> => {
    await client.create(clusterRoles, { metadata: { name }, rules })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    await client.create(clusterRoleBindings, { metadata: { name }, roleRef, subjects: [subject] })
  }
  const user = (name: string): Subject => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })
  const rule = (verbs: string, resources: string): PolicyRule => ({
    apiGroups: [''],
    verbs: verbs.split(','),
    resources: resources.split(','),
  })
  const as = async (name: string, port: number, line: string, headers = {}): Promise<RawAnswer> =>
    ask(cluster, { port, line, headers, identity: await certificateOf(cluster, name) })

  test('get on pods/exec, attach and portforward does not allow them over WebSocket', async () => {
    await allow('reader', user('reader'), rule('get', 'pods/exec,pods/attach,pods/portforward'))
    await allow('runner', user('runner'), rule('get,create', 'pods/exec'))
    for (const what of ['exec?command=id&stdout=1', 'attach?stdout=1', 'portforward?ports=80']) {
      const refused = await as('reader', api, `GET ${pod}/${what}`, webSocket)
      assert.equal(refused.status, 403, refused.body)
      assert.match(refused.body, /"pods \\"web\\" is forbidden/)
      refused.socket.destroy()
    }
    const { status, head, socket } = await as('runner', api, `GET ${pod}/exec?command=id&stdout=1`, webSocket)
    assert.equal(status, 101)
    assert.match(head, /^sec-websocket-protocol: v5\.channel\.k8s\.io$/im)
    socket.destroy()
    const stranger = await as('stranger', api, `GET ${pod}/log`)
    assert.equal(stranger.status, 403)
  })

  test('an exec request without an upgrade is rejected with 400', async () => {
    const { status, body } = await as('runner', api, `GET ${pod}/exec?command=id&stdout=1`)
    assert.equal(status, 400)
    assert.match(body, /Upgrade request required/)
    const dry = await as('runner', api, `GET ${pod}/exec?command=id&stdout=1&dryRun=All`, webSocket)
    assert.match(dry.body, /dryRun is not supported/)
  })

  test('the kubelet rejects unauthenticated requests with 401', async () => {
    for (const path of [
      '/pods',
      '/healthz',
      '/metrics',
      '/exec/default/web/main?command=id&output=1',
      '/x',
    ]) {
      const anonymous = await ask(cluster, { port: kubelet, line: `GET ${path}` })
      assert.deepEqual([anonymous.status, anonymous.body], [401, 'Unauthorized'], path)
      const headers = { authorization: 'Bearer not-a-token' }
      assert.equal((await ask(cluster, { port: kubelet, line: `GET ${path}`, headers })).status, 401, path)
    }
    const upgrade = await ask(cluster, {
      port: kubelet,
      line: 'GET /exec/default/web/main?command=id&output=1',
      headers: webSocket,
    })
    assert.equal(upgrade.status, 401)
  })

  test('the kubelet authorizes requests by the subresources of nodes', async () => {
    await allow('watcher', user('watcher'), rule('get', 'nodes/metrics,nodes/stats,nodes/pods'))
    const check = async (path: string, expected: number, headers = {}): Promise<string> => {
      const { status, body, socket } = await as('watcher', kubelet, path, headers)
      socket.destroy()
      assert.equal(status, expected, path)
      return body
    }
    assert.match(await check('GET /metrics/resource', 200), /^node_memory_working_set_bytes [\d.e+]+ \d+$/m)
    assert.match(await check('GET /pods', 200), /"name":"web"/)
    await check('GET /stats/summary', 200)
    await check('GET /configz', 403)
    await check('GET /debug/passes', 403)
    await check('GET /containerLogs/default/web/main', 403)
    await check('GET /%63ontainerLogs/default/web/main', 403)
    await check('GET /logs/', 403)
    assert.match(
      await check('GET /exec/default/web/main?command=id&output=1', 403, webSocket),
      /^Forbidden \(user=watcher, verb=create, resource=nodes, subresource\(s\)=\[proxy\]\)/,
    )
  })

  test('get on nodes/proxy allows reading logs but not exec', async () => {
    await allow('proxied', user('proxied'), rule('get', 'nodes/proxy'))
    const exec = '/exec/default/web/main?command=id&output=1'
    assert.equal((await as('proxied', kubelet, `GET ${exec}`, webSocket)).status, 403)
    const passes = async (query: string): Promise<string> => {
      return (await as('proxied', kubelet, `GET /debug/passes${query}`)).body
    }
    assert.match(await passes(''), /^{"passes":\[{"component":"kube-proxy",.*"endedMs":3}\]}$/)
    assert.equal(await passes('?after=3'), '{"passes":[]}')
    assert.match(await passes('?after=x'), /^invalid value/)
    assert.equal((await as('proxied', kubelet, 'GET /containerLogs/default/web/main')).status, 200)
    for (const path of [
      exec,
      `/${exec}`,
      exec.replace('exec', '%65xec'),
      exec.replace('/exec', '/x/../exec'),
    ]) {
      const { status } = await as('proxied', api, `GET /api/v1/nodes/node-0/proxy${path}`, webSocket)
      assert.equal(status, 403, path)
    }
  })

  test('the kubelet authenticates service account tokens by TokenReview', async () => {
    await client.create(namespaces, { metadata: { name: 'monitoring' } })
    await client.create(serviceAccounts, { metadata: { namespace: 'monitoring', name: 'scraper' } })
    await allow(
      'scraper',
      { kind: 'ServiceAccount', namespace: 'monitoring', name: 'scraper' },
      rule('get', 'nodes/metrics'),
    )
    const at = { namespace: 'monitoring', name: 'scraper', subresource: 'token' }
    const asked: TokenRequest = { metadata: {}, spec: { audiences: [] } }
    const made = (await client.createSubresource(serviceAccounts, at, asked)) as TokenRequest
    const headers = { authorization: `Bearer ${made.status?.token}` }
    const scrape = (path: string): Promise<RawAnswer> =>
      ask(cluster, { port: kubelet, line: `GET ${path}`, headers })
    assert.equal((await scrape('/metrics')).status, 200)
    assert.equal((await scrape('/metrics')).status, 200)
    assert.equal((await scrape('/pods')).status, 403)
  })

  test('the audit log records the start and the end of an exec session', async () => {
    recorded.length = 0
    const { socket } = await as('runner', api, `GET ${pod}/exec?command=id&stdout=1`, webSocket)
    await waitUntil(() => recorded.some(({ stage }) => stage === 'ResponseStarted'))
    socket.destroy()
    await waitUntil(() => recorded.some(({ stage }) => stage === 'ResponseComplete'))
    const own = recorded.filter(({ user: { username } }) => username === 'runner')
    assert.deepEqual(
      own.map(({ stage, verb, objectRef, responseStatus }) => [
        stage,
        verb,
        objectRef?.subresource,
        responseStatus?.code,
      ]),
      [
        ['RequestReceived', 'get', 'exec', undefined],
        ['ResponseStarted', 'get', 'exec', 101],
        ['ResponseComplete', 'get', 'exec', 101],
      ],
    )
  })
})
