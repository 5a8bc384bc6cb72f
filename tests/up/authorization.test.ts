/** Authorization as configured by an administrator on a real server. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { startJsonService, type JsonService } from './json-service.ts'
import { up, whoAmI } from './process.ts'

const tokens = 'a,alice,1,"writers"\nb,bob,2\n'
const alice = { authorization: 'Bearer a' }
const bob = { authorization: 'Bearer b' }
const pods = '/api/v1/namespaces/default/pods'

test('a token file authenticates users, and an ABAC policy file authorizes them', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'tokens'), tokens)
  const policies = [
    { user: 'bob', resource: 'pods', namespace: 'default', readonly: true },
    { group: 'writers', resource: '*', namespace: '*' },
    { group: 'system:authenticated', nonResourcePath: '*' },
  ]
  const lines = policies.map(spec => {
    const form = { apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy' }
    return JSON.stringify({ ...form, spec: { apiGroup: '*', ...spec } })
  })
  await writeFile(join(folder, 'policies'), lines.join('\n'))
  const cluster = await up(
    t,
    join(folder, 'data'),
    `--store memory --token-auth-file ${folder}/tokens --anonymous-auth=false`,
    `--authorization-mode ABAC --authorization-policy-file ${folder}/policies`,
  )
  assert.deepEqual(await whoAmI(cluster, alice), {
    username: 'alice',
    uid: '1',
    groups: ['writers', 'system:authenticated'],
  })
  assert.equal((await cluster.askAs(bob, pods)).status, 200)
  assert.equal((await cluster.askAs(bob, '/api/v1/namespaces/kube-system/pods')).status, 403)
  assert.equal((await cluster.askAs(bob, '/api/v1/namespaces', { metadata: { name: 'x' } })).status, 403)
  assert.equal((await cluster.askAs(alice, '/api/v1/namespaces', { metadata: { name: 'x' } })).status, 201)
  assert.equal((await cluster.askAs({}, '/version')).status, 401)
  // Administrators are authorized in every mode.
  assert.equal((await cluster.ask('/api/v1/nodes')).status, 200)
})

interface Review {
  readonly spec: { readonly user: string; readonly resourceAttributes?: { readonly resource: string } }
}

/** An authorization webhook that records its requests. */
async function service(
  t: TestContext,
  decide: (review: Review) => object,
): Promise<JsonService & { readonly asked: Review[] }> {
  const asked: Review[] = []
  const started = await startJsonService(t, body => {
    const review = body as Review
    asked.push(review)
    return { ...review, status: decide(review) }
  })
  return { ...started, asked }
}

test('authorization webhooks of a configuration file run in order under their match conditions', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'tokens'), tokens)
  const deny = await service(t, ({ spec }) =>
    spec.resourceAttributes?.resource === 'secrets'
      ? { allowed: false, denied: true, reason: 'secrets are secret' }
      : { allowed: false },
  )
  const allow = await service(t, () => ({ allowed: true }))
  const authorizers = [deny, allow].map((_, index) => ({
    type: 'Webhook',
    name: `hook-${index}`,
    webhook: {
      timeout: '3s',
      subjectAccessReviewVersion: 'v1',
      matchConditionSubjectAccessReviewVersion: 'v1',
      failurePolicy: 'Deny',
      connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: join(folder, `hook-${index}.conf`) },
      matchConditions: [
        { expression: 'has(request.resourceAttributes)' },
        ...(index === 1 ? [{ expression: "request.user == 'alice' && 'writers' in request.groups" }] : []),
      ],
    },
  }))
  await writeFile(join(folder, 'hook-0.conf'), deny.kubeconfig)
  await writeFile(join(folder, 'hook-1.conf'), allow.kubeconfig)
  const file = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers: [...authorizers, { type: 'RBAC', name: 'rbac' }],
  }
  await writeFile(join(folder, 'authorization.yaml'), JSON.stringify(file))
  const cluster = await up(
    t,
    join(folder, 'data'),
    `--store memory --token-auth-file ${folder}/tokens --authorization-config ${folder}/authorization.yaml`,
  )
  const refused = await cluster.askAs(alice, '/api/v1/namespaces/default/secrets')
  assert.equal(refused.status, 403)
  assert.match(refused.text, /secrets are secret/)
  assert.equal((await cluster.askAs(alice, pods)).status, 200)
  assert.equal((await cluster.askAs(alice, pods)).status, 200)
  assert.equal((await cluster.askAs(bob, pods)).status, 403)
  assert.equal((await cluster.askAs(bob, '/version')).status, 200)
  const users = ({ asked }: { readonly asked: readonly Review[] }): string[] =>
    asked.map(({ spec }) => spec.user)
  assert.deepEqual(users(deny), ['alice', 'alice', 'bob'])
  assert.deepEqual(users(allow), ['alice'])
})
