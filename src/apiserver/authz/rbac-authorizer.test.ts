import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PolicyRule, Role, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { encodeForStore } from '../registry/stored-object.ts'
import { keyOf } from '../registry/store-keys.ts'
import type { UserInfo } from '../request.ts'
import type { Attributes, ResourceAttributes } from './authorizer.ts'
import { RuleSet } from './rbac/rule-set.ts'
import { RbacAuthorizer } from './rbac-authorizer.ts'
import { readQuestion, startTestCluster, type TestCluster } from './test-cluster.ts'

const apiVersion = 'rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'
const eve: UserInfo = { username: 'eve', groups: ['team', 'system:authenticated'] }

test('an RBAC rule matches verbs, groups, resources, subresources, names and paths', () => {
  const check = (rule: PolicyRule, allowed: readonly string[], refused: readonly string[]): void => {
    const rules = new RuleSet([rule])
    for (const question of allowed) assert.ok(rules.allows(readQuestion(eve, question)), `allows ${question}`)
    for (const question of refused)
      assert.ok(!rules.allows(readQuestion(eve, question)), `refuses ${question}`)
  }
  const rule = (verbs: string, apiGroups: string, resources: string, names = ''): PolicyRule => {
    const split = (text: string): readonly string[] => text.split(' ')
    return {
      verbs: split(verbs),
      apiGroups: split(apiGroups),
      resources: split(resources),
      ...(names && { resourceNames: split(names) }),
    }
  }
  check(
    rule('get list', '', 'pods'),
    ['get pods', 'list pods n/', 'get pods n/a'],
    ['watch pods', 'get pods/log', 'get pods.apps', 'get services', 'get /pods', '* pods', 'get *'],
  )
  check(rule('*', '*', '*'), ['get pods', 'any x/y.example.com n/a', '* *.* n/'], ['get /healthz'])
  check(rule('get', '', 'pods/log'), ['get pods/log n/a'], ['get pods n/a', 'get pods/status n/a', 'get log'])
  check(
    rule('get', '*', '*/scale'),
    ['get a/scale.x n/a', 'get b/scale'],
    ['get a.x n/a', 'get scale', 'get a/status'],
  )
  check(rule('get', 'apps', '*'), ['get a.apps', 'get a/b.apps'], ['get a', 'get a.batch'])
  check(
    rule('get list create', '', 'secrets', 'a b'),
    ['get secrets n/a', 'list secrets n/b'],
    ['get secrets n/c', 'list secrets n/', 'create secrets n/'],
  )
  const paths = { verbs: ['get'], nonResourceURLs: ['/healthz', '/metrics/*', '/a**'] }
  check(
    paths,
    ['get /healthz', 'get /metrics/', 'get /metrics/x/y', 'get /a', 'get /ab'],
    ['post /healthz', 'get /healthz/', 'get /metrics', 'get healthz', 'get /b'],
  )
  check({ verbs: ['*'], nonResourceURLs: ['*'] }, ['get /', 'post /x'], ['get pods'])
  check({ verbs: [], apiGroups: [''], resources: ['pods'] }, [], ['get pods'])
  check(
    rule('get', '', '__proto__', 'constructor'),
    ['get __proto__ n/constructor'],
    ['get toString n/constructor', 'get __proto__ n/x'],
  )
})

test('long RBAC rules are matched in linear time', () => {
  const stars = '*'.repeat(200_000)
  const rules = new RuleSet([{ verbs: ['get'], nonResourceURLs: [`/a${stars}b${stars}`] }])
  assert.ok(rules.allows(readQuestion(eve, `get /a${stars}bc`)))
  assert.ok(!rules.allows(readQuestion(eve, 'get /a')))
})

function binding(
  name: string,
  namespace: string | undefined,
  roleRef: [string, string],
  ...subjects: Subject[]
): KubernetesObject {
  const object = {
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    apiVersion,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup, kind: roleRef[0], name: roleRef[1] },
    subjects,
  }
  return object
}

function role(name: string, namespace: string | undefined, ...rules: PolicyRule[]): KubernetesObject {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const object = {
    kind,
    apiVersion,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    rules,
  }
  return object
}

const readPods: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const user = (name: string): Subject => ({ kind: 'User', name, apiGroup })
const group = (name: string): Subject => ({ kind: 'Group', name, apiGroup })

test('a RoleBinding grants in its namespace, a ClusterRoleBinding everywhere', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true, authorizers: [{ mode: 'RBAC' }] })
  const account: UserInfo = { username: 'system:serviceaccount:build:robot', groups: [] }
  await cluster.create(role('reader', undefined, readPods))
  await cluster.create(role('reader', 'a', readPods))
  await cluster.create(binding('one', 'a', ['Role', 'reader'], user('eve')))
  await cluster.create(binding('two', 'b', ['ClusterRole', 'reader'], group('team')))
  await cluster.create(
    binding('three', 'build', ['ClusterRole', 'reader'], { kind: 'ServiceAccount', name: 'robot' }),
  )
  const check = async (who: UserInfo, places: string): Promise<void> => {
    const allowed: string[] = []
    for (const place of ['a', 'b', 'build', '']) {
      if (await cluster.may(who, `get pods ${place}/x`)) allowed.push(place || 'all')
    }
    assert.equal(allowed.join(' '), places)
  }
  await check(eve, 'a b')
  await check({ username: 'eve', groups: [] }, 'a')
  await check({ username: 'Eve', groups: ['a', 'reader', 'Team'] }, '')
  await check(account, 'build')
  await check({ username: 'robot', groups: [] }, '')
  await cluster.create(
    binding('four', undefined, ['ClusterRole', 'reader'], {
      kind: 'ServiceAccount',
      name: 'robot',
      namespace: 'build',
    }),
  )
  await check(account, 'a b build all')
})

test('changes of roles and bindings apply immediately', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true, authorizers: [{ mode: 'RBAC' }] })
  const may = (): Promise<boolean> => cluster.may(eve, 'get pods n/a')
  assert.equal(await may(), false)
  await cluster.create(binding('b', undefined, ['ClusterRole', 'r'], user('eve')))
  assert.equal(await may(), false)
  await cluster.create(role('r', undefined, readPods))
  assert.equal(await may(), true)
  await cluster.update(role('r', undefined, { ...readPods, verbs: ['list'] }))
  assert.equal(await may(), false)
  await cluster.update(role('r', undefined, readPods))
  assert.equal(await may(), true)
  await cluster.update(binding('b', undefined, ['ClusterRole', 'r'], user('adam')))
  assert.equal(await may(), false)
  await cluster.update(binding('b', undefined, ['ClusterRole', 'r'], group('team'), group('team')))
  assert.equal(await may(), true)
  await cluster.remove(binding('b', undefined, ['ClusterRole', 'r']))
  assert.equal(await may(), false)
})

test('RBAC decisions name the binding or the missing roles', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true, authorizers: [{ mode: 'RBAC' }] })
  const check = async (question: string, decision: string, reason: string): Promise<void> => {
    assert.deepEqual(await cluster.authorizer.authorize(readQuestion(eve, question)), { decision, reason })
  }
  await check('get pods n/a', 'no opinion', '')
  await cluster.create(binding('b', 'n', ['Role', 'r'], group('team')))
  await check('get pods n/a', 'no opinion', 'RBAC: role.rbac.authorization.k8s.io "r" not found')
  await check('get pods m/a', 'no opinion', '')
  await cluster.create(binding('c', undefined, ['ClusterRole', 'gone'], user('eve'), group('team')))
  await check('get pods m/a', 'no opinion', 'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')
  await check(
    'get pods n/a',
    'no opinion',
    'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "r" not found]',
  )
  await cluster.create(role('r', 'n', readPods))
  await check('get pods n/a', 'allow', 'RBAC: allowed by RoleBinding "b/n" of Role "r" to Group "team"')
  await cluster.create(role('gone', undefined, readPods))
  await check(
    'get pods n/a',
    'allow',
    'RBAC: allowed by ClusterRoleBinding "c" of ClusterRole "gone" to User "eve"',
  )
})

test('the rules of a user come from all bindings, each once', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true, authorizers: [{ mode: 'RBAC' }] })
  await cluster.create(role('r', undefined, readPods, { verbs: ['get'], nonResourceURLs: ['/x'] }))
  await cluster.create(role('s', 'n', { ...readPods, resourceNames: ['a'] }))
  await cluster.create(binding('b', undefined, ['ClusterRole', 'r'], user('eve'), group('team')))
  await cluster.create(binding('c', 'n', ['Role', 's'], user('eve')))
  await cluster.create(binding('d', 'n', ['Role', 'gone'], user('eve')))
  assert.deepEqual(cluster.authorizer.rulesFor(eve, 'n'), {
    resourceRules: [readPods, { ...readPods, resourceNames: ['a'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }],
    incomplete: false,
    errors: ['role.rbac.authorization.k8s.io "gone" not found'],
  })
  assert.deepEqual(cluster.authorizer.rulesFor(eve, 'm').resourceRules, [readPods])
})

interface Policy {
  readonly clusterRoles: readonly Role[]
  readonly roles: readonly Role[]
  readonly clusterRoleBindings: readonly RoleBinding[]
  readonly roleBindings: readonly RoleBinding[]
}

const names = ['a', 'b', '*']
const some = (values: readonly string[], minLength = 0): fc.Arbitrary<string[]> => {
  return fc.subarray([...values], { minLength })
}
const anyRule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verbs: some(['get', 'list', '*'], 1),
    apiGroups: some(['', 'x', '*'], 1),
    resources: some(['p', 'p/s', '*/s', 'q', '*'], 1),
    resourceNames: some(['a', 'b']),
  }),
  fc.record({ verbs: some(['get', '*'], 1), nonResourceURLs: some(['/a', '/a/*', '*', '/b*']) }),
)
const anySubject: fc.Arbitrary<Subject> = fc.record({
  kind: fc.constantFrom('User', 'User', 'Group', 'Group', 'ServiceAccount', 'Robot'),
  name: fc.constantFrom('u', 'u', 'g', 'g', 'system:serviceaccount:n:u'),
  namespace: fc.constantFrom('', 'n', 'm'),
})
const anyRef = fc.record({
  apiGroup: fc.constant(apiGroup),
  kind: fc.constantFrom('Role', 'ClusterRole', 'ClusterRole', 'Pod'),
  name: fc.constantFrom('r1', 'r1', 'r2', 'r3'),
})
const anyNames = (
  namespaced: boolean,
  values: readonly string[],
): fc.Arbitrary<{ name: string; namespace?: string }> =>
  fc.record({
    name: fc.constantFrom(...values),
    ...(namespaced && { namespace: fc.constantFrom('n', 'm') }),
  })
const rulesIn = (namespaced: boolean): fc.Arbitrary<Role[]> =>
  fc.uniqueArray(
    fc.record({ metadata: anyNames(namespaced, ['r1', 'r2']), rules: fc.array(anyRule, { maxLength: 3 }) }),
    { minLength: 1, selector: ({ metadata }) => `${metadata.namespace}/${metadata.name}` },
  )
const bindingsIn = (namespaced: boolean): fc.Arbitrary<RoleBinding[]> =>
  fc.uniqueArray(
    fc.record({
      metadata: anyNames(namespaced, ['b1', 'b2', 'b3']),
      roleRef: anyRef,
      subjects: fc.array(anySubject, { maxLength: 3 }),
    }),
    { minLength: 2, selector: ({ metadata }) => `${metadata.namespace}/${metadata.name}` },
  )
const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  clusterRoles: rulesIn(false),
  roles: rulesIn(true),
  clusterRoleBindings: bindingsIn(false),
  roleBindings: bindingsIn(true),
})
const anyUser: fc.Arbitrary<UserInfo> = fc.record({
  username: fc.constantFrom('u', 'u', 'v', 'system:serviceaccount:n:u', 'system:serviceaccount:m:g'),
  groups: fc.constantFrom(['g'], ['h', 'g'], []),
})
const anyQuestion: fc.Arbitrary<Attributes> = fc
  .tuple(
    anyUser,
    fc.oneof(
      fc.record({
        isResource: fc.constant<true>(true),
        verb: fc.constantFrom('get', 'list', 'delete', '*'),
        group: fc.constantFrom('', 'x', 'y'),
        version: fc.constant('v1'),
        resource: fc.constantFrom('p', 'q', '*'),
        subresource: fc.constantFrom('', 's', 't'),
        namespace: fc.constantFrom('', 'n', 'm', 'o'),
        name: fc.constantFrom('', ...names),
      }),
      fc.record({
        isResource: fc.constant<false>(false),
        verb: fc.constantFrom('get', 'post'),
        path: fc.constantFrom('/a', '/a/', '/a/b', '/b', '/bc', '/'),
      }),
    ),
  )
  .map(([user, question]) => ({ user, ...question }))

/** Reference implementation without indexes, following the documentation. */
function isAllowed(policy: Policy, attributes: Attributes): boolean {
  const namespace = attributes.isResource ? attributes.namespace : ''
  const bindings = [
    ...policy.clusterRoleBindings,
    ...policy.roleBindings.filter(each => {
      return namespace !== '' && each.metadata.namespace === namespace
    }),
  ]
  return bindings.some(({ metadata, roleRef, subjects = [] }) => {
    const home = metadata.namespace ?? ''
    if (!subjects.some(subject => isSubject(subject, attributes.user, home))) return false
    const candidates =
      roleRef.kind === 'ClusterRole'
        ? policy.clusterRoles
        : roleRef.kind === 'Role'
          ? policy.roles.filter(each => each.metadata.namespace === home)
          : []
    const role = candidates.find(each => each.metadata.name === roleRef.name)
    return (role?.rules ?? []).some(rule => ruleAllows(rule, attributes))
  })
}

function isSubject(subject: Subject, { username, groups }: UserInfo, home: string): boolean {
  const { kind, name } = subject
  const namespace = subject.namespace || home
  return (
    (kind === 'User' && name === username) ||
    (kind === 'Group' && groups.includes(name)) ||
    (kind === 'ServiceAccount' &&
      namespace !== '' &&
      username === `system:serviceaccount:${namespace}:${name}`)
  )
}

function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  const has = (values: readonly string[] = [], value: string): boolean =>
    values.includes('*') || values.includes(value)
  if (!has(rule.verbs, attributes.verb)) return false
  if (!attributes.isResource) {
    const { path } = attributes
    return (rule.nonResourceURLs ?? []).some(each => {
      return each === path || (each.endsWith('*') && path.startsWith(each.slice(0, -1)))
    })
  }
  return (
    has(rule.apiGroups, attributes.group) &&
    namesResource(rule, attributes) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(attributes.name))
  )
}

function namesResource(
  { resources = [] }: PolicyRule,
  { resource, subresource }: ResourceAttributes,
): boolean {
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some(
    each => each === '*' || each === whole || (subresource !== '' && each === `*/${subresource}`),
  )
}

test('the RBAC index agrees with a full scan after random changes', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true })
  const rbac = new RbacAuthorizer(cluster.registry.cache)
  const seen = { 'allow': 0, 'no opinion': 0, 'deny': 0 }
  const anyQuestions = fc.array(anyQuestion, { minLength: 20, maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(anyPolicy, anyQuestions, async (policy, questions) => {
      await replacePolicy(cluster, policy)
      for (const question of questions) {
        const { decision } = rbac.authorize(question)
        seen[decision]++
        assert.equal(decision === 'allow', isAllowed(policy, question), JSON.stringify(question))
      }
    }),
    { numRuns: 300 },
  )
  assert.ok(seen.allow > 50 && seen['no opinion'] > 100 && seen.deny === 0, JSON.stringify(seen))
})

/** Writes directly to the store: stored objects may predate current validation. */
async function replacePolicy({ registry: { store, cache } }: TestCluster, policy: Policy): Promise<void> {
  const wanted = new Map<string, Uint8Array>()
  for (const [resource, objects] of [
    [clusterRoles, policy.clusterRoles],
    [roles, policy.roles],
    [clusterRoleBindings, policy.clusterRoleBindings],
    [roleBindings, policy.roleBindings],
  ] as const) {
    for (const object of objects) {
      wanted.set(
        keyOf(resource, object.metadata.namespace ?? '', object.metadata.name ?? ''),
        encodeForStore(object),
      )
    }
  }
  // A copy, because the cache changes during the writes.
  const stored = Array.from(cache.list('/registry/'))
  for (const { key, revision } of stored) {
    const bytes = wanted.get(key)
    wanted.delete(key)
    if (bytes) await store.update(key, bytes, { expectedRevision: revision })
    else await store.delete(key, { expectedRevision: revision })
  }
  for (const [key, bytes] of wanted) await store.create(key, bytes)
  await cache.waitForLatest()
}
