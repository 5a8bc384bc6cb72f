import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '#/api/errors.ts'
import type { PolicyRule, Subject } from '#/api/generated/rbac/v1.ts'
import { roles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { keyOf } from '../registry/store-keys.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import type { UserInfo } from '../request.ts'
import { describeRules } from './rbac/describe-rules.ts'
import { uncoveredRules, brokenDownRulesMax } from './rbac/uncovered-rules.ts'
import { startTestCluster, type TestCluster } from './test-cluster.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'
const bob: UserInfo = { username: 'bob', groups: ['team', 'system:authenticated'] }
const masters: UserInfo = { username: 'root', groups: ['system:masters'] }

/**
 * Parses `get,list pods secrets = name` for the core group, `apps:deployments` for another group, or `get
 * /path`.
 */
function rule(text: string): PolicyRule {
  const [verbs = '', ...words] = text.split(' ')
  if (words[0]?.startsWith('/') || words[0] === '/*')
    return { verbs: verbs.split(','), nonResourceURLs: words }
  const equals = words.indexOf('=')
  const resources = equals === -1 ? words : words.slice(0, equals)
  const [group = ''] = resources[0]?.includes(':') ? resources[0].split(':') : []
  return {
    verbs: verbs.split(','),
    apiGroups: [group],
    resources: resources.map(each => each.slice(each.indexOf(':') + 1)),
    ...(equals !== -1 && { resourceNames: words.slice(equals + 1) }),
  }
}

const role = (namespace: string | undefined, name: string, ...rules: readonly string[]): KubernetesObject => {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const object = {
    kind,
    apiVersion,
    metadata: { name, ...(namespace && { namespace }) },
    rules: rules.map(rule),
  }
  return object
}

const binding = (
  namespace: string | undefined,
  name: string,
  ref: string,
  ...subjects: readonly string[]
): KubernetesObject => {
  const [kind = '', roleName = ''] = ref.split(' ')
  const object = {
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    apiVersion,
    metadata: { name, ...(namespace && { namespace }) },
    roleRef: { apiGroup, kind, name: roleName },
    subjects: subjects.map((each): Subject => ({ kind: 'User', name: each, apiGroup })),
  }
  return object
}

const bobIsGranting =
  ': user "bob" (groups=["team" "system:authenticated"]) is attempting to grant RBAC permissions' +
  ' not currently held:\n'

/** The rejection message; empty if the write succeeded. */
async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return ''
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    assert.ok(error.code === 403 || error.code === 404, error.message)
    return error.message
  }
}

async function clusterWithBob(
  t: Parameters<typeof startTestCluster>[0],
  ...rules: readonly string[]
): Promise<TestCluster> {
  const cluster = await startTestCluster(t)
  await cluster.create(role('n', 'bobs', ...rules))
  await cluster.create(binding('n', 'bobs', 'Role bobs', 'bob'))
  return cluster
}

test('a role cannot grant more than its writer has', async t => {
  const { create, update } = await clusterWithBob(t, 'get,list pods', 'create apps:deployments')
  assert.equal(await refusal(create(role('n', 'less', 'get pods'), bob)), '')
  assert.equal(await refusal(create(role('n', 'same', 'list,get pods', 'create apps:deployments'), bob)), '')
  assert.equal(await refusal(create(role('n', 'named', 'get pods = a'), bob)), '')
  assert.equal(
    await refusal(create(role('n', 'more', 'get,delete pods secrets', 'get services = b'), bob)),
    `roles.rbac.authorization.k8s.io "more" is forbidden${bobIsGranting}` +
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n' +
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}\n' +
      '{APIGroups:[""], Resources:["services"], ResourceNames:["b"], Verbs:["get"]}',
  )
  assert.match(
    await refusal(update(role('n', 'less', 'get,watch pods'), bob)),
    /"less" is forbidden: user "bob"/,
  )
  assert.match(
    await refusal(create(role('m', 'less', 'get pods'), bob)),
    /Resources:\["pods"\], Verbs:\["get"\]/,
  )
  assert.match(
    await refusal(create(role(undefined, 'wide', 'get pods'), bob)),
    /^clusterroles.rbac.authorization.k8s.io "wide" is forb/,
  )
  assert.match(
    await refusal(create(role(undefined, 'paths', 'get /metrics'), bob)),
    /\{NonResourceURLs:\["\/metrics"\], Verbs:\["get"\]\}/,
  )
  assert.equal(await refusal(create(role('n', 'any', '* *'), masters)), '')
})

test('the verb escalate, or all permissions, allows writing any role', async t => {
  const cluster = await clusterWithBob(t, 'escalate rbac.authorization.k8s.io:roles')
  assert.equal(await refusal(cluster.create(role('n', 'any', 'get secrets'), bob)), '')
  assert.match(await refusal(cluster.create(role('m', 'any', 'get secrets'), bob)), /not currently held/)
  assert.match(
    await refusal(cluster.create(role(undefined, 'any', 'get secrets'), bob)),
    /not currently held/,
  )
  await cluster.create(binding(undefined, 'boss', 'ClusterRole cluster-admin', 'bob'))
  assert.equal(await refusal(cluster.create(role(undefined, 'any', 'get secrets', '* /*'), bob)), '')
})

test('the verb escalate can be limited to one role', async t => {
  const cluster = await clusterWithBob(t, 'escalate rbac.authorization.k8s.io:roles = mine')
  await cluster.create(role('n', 'mine'))
  await cluster.create(role('n', 'other'))
  assert.equal(await refusal(cluster.update(role('n', 'mine', 'get secrets'), bob)), '')
  assert.match(await refusal(cluster.update(role('n', 'other', 'get secrets'), bob)), /not currently held/)
  assert.match(await refusal(cluster.create(role('n', 'new', 'get secrets'), bob)), /not currently held/)
})

test('a role with more permissions than the writer has can be bound only with the verb bind', async t => {
  const cluster = await clusterWithBob(t, 'get pods', 'bind rbac.authorization.k8s.io:clusterroles = view')
  const { create } = cluster
  await create(role('n', 'reader', 'get pods'))
  await create(role('n', 'keeper', 'get secrets'))
  assert.equal(await refusal(create(binding('n', 'a', 'Role reader', 'carol'), bob)), '')
  assert.equal(
    await refusal(create(binding('n', 'b', 'Role keeper', 'carol'), bob)),
    `rolebindings.rbac.authorization.k8s.io "b" is forbidden${bobIsGranting}` +
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
  )
  assert.equal(await refusal(create(binding('n', 'c', 'ClusterRole view', 'carol'), bob)), '')
  assert.match(
    await refusal(create(binding('n', 'd', 'ClusterRole edit', 'carol'), bob)),
    /not currently held/,
  )
  assert.match(
    await refusal(create(binding(undefined, 'e', 'ClusterRole view', 'carol'), bob)),
    /not currently held/,
  )
  assert.equal(
    await refusal(create(binding('n', 'f', 'Role gone', 'carol'), bob)),
    'roles.rbac.authorization.k8s.io "gone" not found',
  )
  assert.equal(await refusal(create(binding('n', 'g', 'Role gone', 'carol'), masters)), '')
  const more = binding('n', 'g', 'Role gone', 'carol', 'dave')
  assert.match(await refusal(cluster.update(more, bob)), /"gone" not found/)
  await create(role('n', 'gone', 'delete pods'))
  assert.match(await refusal(cluster.update(more, bob)), /Verbs:\["delete"\]/)
})

test('a role not yet in the cache can be bound', async t => {
  const cluster = await clusterWithBob(t, 'get pods')
  const { store, cache } = cluster.registry
  const key = keyOf(roles, 'n', 'new')
  await store.create(key, encodeForStore(role('n', 'new', 'get pods')))
  assert.equal(cache.get(key), undefined)
  assert.equal(await refusal(cluster.create(binding('n', 'a', 'Role new', 'carol'), bob)), '')
})

test('aggregationRule requires all permissions', async t => {
  const cluster = await clusterWithBob(t, 'get pods')
  const gathering = (name: string): KubernetesObject => {
    const object = {
      ...role(undefined, name),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    }
    return object
  }
  const message =
    'clusterroles.rbac.authorization.k8s.io "g" is forbidden: ' +
    'must have cluster-admin privileges to use the aggregationRule'
  assert.equal(await refusal(cluster.create(gathering('g'), bob)), message)
  await cluster.create(gathering('g'))
  assert.equal(await refusal(cluster.update(role(undefined, 'g'), bob)), message)
  await cluster.create(binding(undefined, 'boss', 'ClusterRole cluster-admin', 'bob'))
  assert.equal(await refusal(cluster.update(role(undefined, 'g'), bob)), '')
})

test('owner references and finalizers of a role can change without an escalation check', async t => {
  const cluster = await clusterWithBob(t, 'get pods')
  const made = await cluster.create(role('n', 'big', '* *'))
  const held = { ...made, metadata: { ...made.metadata, finalizers: ['example.com/hold'] } }
  assert.equal(await refusal(cluster.update(held, bob)), '')
  const labelled = { ...held, metadata: { ...held.metadata, resourceVersion: '', labels: { a: 'b' } } }
  assert.match(await refusal(cluster.update(labelled, bob)), /not currently held/)
})

test('missing roles are reported in escalation errors', async t => {
  const cluster = await clusterWithBob(t, 'get pods')
  await cluster.create(binding('n', 'lost', 'Role gone', 'bob'))
  assert.match(
    await refusal(cluster.create(role('n', 'x', 'get secrets'), bob)),
    /Verbs:\["get"\]\}; resolution errors: \[roles.rbac.authorization.k8s.io "gone" not found\]$/,
  )
})

test('uncoveredRules returns what no single rule covers', () => {
  const check = (held: readonly string[], wanted: string, ...missing: readonly string[]): void => {
    const rules = uncoveredRules(held.map(rule), [rule(wanted)])
    assert.deepEqual(rules, missing.map(rule), `${held.join('; ')} for ${wanted}`)
  }
  check(['get pods'], 'get pods')
  check(['* pods'], 'get,any pods')
  check(['get pods'], '* pods', '* pods')
  check(['get *'], 'get pods pods/log */scale')
  check(['get pods'], 'get *', 'get *')
  check(['get */scale'], 'get a/scale b/scale a/status a', 'get a/status', 'get a')
  check(['get a/b'], 'get */b', 'get */b')
  check(['get pods = a', 'get pods = b'], 'get pods = a b')
  check(['get pods = a'], 'get pods', 'get pods')
  check(['get pods = a'], 'get pods = a c', 'get pods = c')
  check(['get pods'], 'get apps:pods', 'get apps:pods')
  check(['get /a/*'], 'get /a/b /a/* /a /a/b*', 'get /a')
  check(['get /a'], 'get pods', 'get pods')
  check(['* *'], 'get /a', 'get /a')
  check(['get pods', 'list pods'], 'get,list pods')
})

test('too many rules are rejected, and messages are bounded', async t => {
  const many = Array.from({ length: 400 }, (_, index) => `r${index}`)
  const huge = { verbs: many, apiGroups: many, resources: many }
  const { create } = await clusterWithBob(t, 'get pods')
  const object = { ...role('n', 'huge'), rules: [huge] } as KubernetesObject
  assert.match(await refusal(create(object, bob)), new RegExp(`more than ${brokenDownRulesMax} combinations`))
  assert.deepEqual(
    uncoveredRules([rule('* *'), { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], [huge]),
    [],
  )
  const missing = uncoveredRules([], [{ verbs: ['get'], apiGroups: many.slice(0, 50), resources: many }])
  const lines = describeRules(missing).split('\n')
  assert.equal(lines.length, 1_001)
  assert.equal(lines.at(-1), 'and 19000 more')
})
