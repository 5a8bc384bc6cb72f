/** Metrics and health of the controller manager and the scheduler of a real cluster, scraped as Prometheus does. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { CoreV1Api, KubeConfig, RbacAuthorizationV1Api } from '@kubernetes/client-node'
import { readWholeBody } from '#/platform/http-client.ts'
import { connectHttp } from '#/platform/node.ts'
import { clusterForFile } from '../clients/cluster.ts'

const cluster = await clusterForFile({ containers: true })
const config = new KubeConfig()
config.loadFromFile(cluster.kubeconfig)
const core = config.makeApiClient(CoreV1Api)
let ca = ''
let address = ''
const tokens = { scraper: '', other: '' }

before(async () => {
  ca = await readFile(join(cluster.folder, 'pki', 'ca.crt'), 'utf8')
  const { items } = await core.listNode()
  address = items[0]?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? ''
  const rbac = config.makeApiClient(RbacAuthorizationV1Api)
  const rules = [{ nonResourceURLs: ['/metrics', '/metrics/*'], verbs: ['get'] }]
  await rbac.createClusterRole({ body: { metadata: { name: 'scraper' }, rules } })
  await rbac.createClusterRoleBinding({
    body: {
      metadata: { name: 'scraper' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'scraper' }],
    },
  })
  for (const name of ['scraper', 'other'] as const) {
    await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name } } })
    const body = { spec: { audiences: [] } }
    const { status } = await core.createNamespacedServiceAccountToken({ name, namespace: 'default', body })
    tokens[name] = status?.token ?? ''
  }
})

const endpoints = [
  [10_257, '/metrics', /^workqueue_adds_total\{name="deployment"\} \d+$/m],
  [10_257, '/metrics', /^rest_client_requests_total\{code="200",host=".*",method="GET"\} \d+$/m],
  [
    10_257,
    '/metrics',
    /^running_managed_controllers\{manager="kube-controller-manager",name="job-controller"\} 1$/m,
  ],
  [10_257, '/metrics/slis', /^process_start_time_seconds \d/m],
  [10_259, '/metrics', /^scheduler_cache_size\{type="nodes"\} 1$/m],
  [10_259, '/metrics', /^process_resident_memory_bytes \d/m],
  [10_259, '/metrics/slis', /^process_start_time_seconds \d/m],
  [10_259, '/metrics/resources', /^$/],
] as const

test('a service account that may get /metrics scrapes the controller manager and the scheduler', async () => {
  for (const [port, path, expected] of endpoints) {
    const { status, text } = await get(port, path, tokens.scraper)
    assert.equal(status, 200, `${port}${path}: ${text}`)
    assert.match(text, expected)
  }
})

test('another service account may not, and neither may anyone without a token', async () => {
  for (const [port, path] of endpoints) {
    for (const [user, token] of [
      ['system:serviceaccount:default:other', tokens.other],
      ['system:anonymous', undefined],
    ] as const) {
      const { status, text } = await get(port, path, token)
      assert.equal(status, 403)
      assert.match(text, new RegExp(`User \\\\"${user}\\\\" cannot get path \\\\"${path}\\\\"`))
    }
    assert.equal((await get(port, path, 'wrong')).status, 401)
  }
})

test('health is open, with the checks of each component', async () => {
  const controllers = await get(10_257, '/healthz?verbose')
  assert.match(controllers.text, /^\[\+\]deployment-controller ok\n/m)
  assert.match(controllers.text, /^healthz check passed\n/m)
  const ready = await get(10_259, '/readyz?verbose')
  assert.equal(ready.text, '[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n')
  assert.equal((await get(10_259, '/livez')).text, 'ok')
  const { text } = await get(10_257, '/metrics/slis', tokens.scraper)
  assert.match(text, /^kubernetes_healthcheck\{name="deployment-controller",type="healthz"\} 1$/m)
})

/** Verifies the serving certificate with the cluster's CA. */
async function get(
  port: number,
  path: string,
  token?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  await using client = connectHttp({ origin: `https://${address}:${port}`, tls: { ca } })
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const response = await client.request({ method: 'GET', path, headers })
  return { status: response.status, text: Buffer.from(await readWholeBody(response.body)).toString() }
}
