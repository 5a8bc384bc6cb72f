import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import { Cluster } from '#/testing/testing.ts'
import { formatDiagnosis } from '#/why/format-diagnosis.ts'
import { UnknownKindError } from '#/why/why.ts'
import { assertDiagnosis, deploymentOf, why } from './why-cluster.ts'

const rbac = { apiGroup: 'rbac.authorization.k8s.io' }
const subjects = [{ ...rbac, kind: 'User', name: 'ann' }]
const reading = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }

async function allowReading({ client }: Cluster, namespace: string): Promise<void> {
  const metadata = { namespace, name: 'reader' }
  await client.create(roles, { metadata, rules: [reading] })
  const roleRef = { ...rbac, kind: 'Role', name: 'reader' }
  await client.create(roleBindings, { metadata, roleRef, subjects })
}

const big = deploymentOf({ resources: { requests: { cpu: '640' } } })

test('rights to read one namespace are enough, and what they do not cover is named', async () => {
  await using cluster = await Cluster.start({ nodes: 2 })
  await allowReading(cluster, 'default')
  await cluster.apply([big])
  await cluster.settle()
  const diagnosis = await why(cluster, 'deployment web', cluster.clientAs({ username: 'ann' }))
  assertDiagnosis(diagnosis, {
    code: 'NotScheduled',
    summary: /is not scheduled, since no node is suitable: 2 Insufficient cpu\.$/,
  })
  assert.deepEqual(diagnosis.unread, ['nodes: not permitted', 'pods in all namespaces: not permitted'])
})

test('rights to read the whole cluster are enough for everything: nothing is written', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const metadata = { name: 'read-all' }
  await cluster.client.create(clusterRoles, { metadata, rules: [reading] })
  const roleRef = { ...rbac, kind: 'ClusterRole', name: 'read-all' }
  await cluster.client.create(clusterRoleBindings, { metadata, roleRef, subjects })
  await cluster.apply([deploymentOf({ command: ['sh', '-c', 'echo broken; exit 1'] })])
  await cluster.clock.advance('30s')
  const diagnosis = await why(cluster, 'deployment web', cluster.clientAs({ username: 'ann' }))
  assertDiagnosis(diagnosis, { code: 'CrashLoop', summary: /exit code 1: broken\.$/ })
  assert.deepEqual(diagnosis.unread, [])
})

test('without rights to list pods the diagnosis says so', async () => {
  await using cluster = await Cluster.start()
  const metadata = { namespace: 'default', name: 'reader' }
  const rules = [{ apiGroups: ['apps'], resources: ['deployments', 'replicasets'], verbs: ['get', 'list'] }]
  await cluster.client.create(roles, { metadata, rules })
  const roleRef = { ...rbac, kind: 'Role', name: 'reader' }
  await cluster.client.create(roleBindings, { metadata, roleRef, subjects })
  await cluster.apply([big])
  await cluster.settle()
  const diagnosis = await why(cluster, 'deployment web', cluster.clientAs({ username: 'ann' }))
  assertDiagnosis(diagnosis, { code: 'Unknown', summary: /and its pods could not be read\.$/ })
  assert.ok(diagnosis.unread.includes('pods: not permitted'))
})

test('an object that may not be read is an error of the API, an unknown kind one of its own', async () => {
  await using cluster = await Cluster.start()
  const client = cluster.clientAs({ username: 'ann' })
  await assert.rejects(why(cluster, 'pod web', client), (error: unknown) => isApiError(error, 'Forbidden'))
  await assert.rejects(why(cluster, 'shop web'), UnknownKindError)
})

test('a log with terminal escapes is shown without them', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.apply([deploymentOf({ command: ['sh', '-c', 'echo "\u001b]0;owned\u0007"; exit 1'] })])
  await cluster.clock.advance('30s')
  const text = formatDiagnosis(await why(cluster, 'deployment web'))
  assert.match(text, /exit code 1: \\u001b\]0/)
  assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}/u)
})
