import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterRole, ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { keyOf } from '../registry/store-keys.ts'
import { bootstrapRoles } from './bootstrap-roles.ts'
import { withAggregatedRules } from './rbac/aggregation.ts'
import { planBootstrap } from './rbac/plan-bootstrap.ts'
import { reconcileRoles } from './reconcile-roles.ts'
import { startTestCluster, type TestCluster } from './test-cluster.ts'

function roleIn({ registry }: TestCluster, name: string): ClusterRole {
  return registry.cache.get(keyOf(clusterRoles, '', name))?.object as ClusterRole
}

function bindingIn({ registry }: TestCluster, name: string): ClusterRoleBinding {
  return registry.cache.get(keyOf(clusterRoleBindings, '', name))?.object as ClusterRoleBinding
}

test('reconciling bootstrap roles twice writes nothing', async t => {
  const cluster = await startTestCluster(t)
  const before = await cluster.registry.store.revision()
  await reconcileRoles(cluster.registry)
  assert.equal(await cluster.registry.store.revision(), before)
})

test('reconciling restores missing rules and keeps added ones', async t => {
  const cluster = await startTestCluster(t)
  const role = roleIn(cluster, 'system:kube-dns')
  const extra = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] }
  const metadata = { ...role.metadata, labels: { mine: 'yes' } }
  await cluster.update({ ...role, rules: [extra], metadata } as KubernetesObject)
  const binding = bindingIn(cluster, 'system:kube-dns')
  const carol = { kind: 'User', name: 'carol', apiGroup: 'rbac.authorization.k8s.io' }
  await cluster.update({ ...binding, subjects: [carol] } as KubernetesObject)
  await cluster.remove(roleIn(cluster, 'system:discovery'))
  await reconcileRoles(cluster.registry)
  const after = roleIn(cluster, 'system:kube-dns')
  assert.deepEqual(after.rules, [
    extra,
    ...['endpoints', 'services'].flatMap(resource => {
      return ['list', 'watch'].map(verb => ({ verbs: [verb], apiGroups: [''], resources: [resource] }))
    }),
  ])
  assert.deepEqual(after.metadata.labels, { 'mine': 'yes', 'kubernetes.io/bootstrapping': 'rbac-defaults' })
  assert.deepEqual(bindingIn(cluster, 'system:kube-dns').subjects, [
    carol,
    { kind: 'ServiceAccount', name: 'kube-dns', namespace: 'kube-system' },
  ])
  assert.ok(roleIn(cluster, 'system:discovery'))
})

test('the autoupdate annotation disables reconciliation', async t => {
  const cluster = await startTestCluster(t)
  const protect = (object: ClusterRole | ClusterRoleBinding): object => {
    return { ...object.metadata, annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } }
  }
  const [role, binding] = [roleIn(cluster, 'system:discovery'), bindingIn(cluster, 'system:discovery')]
  await cluster.update({ ...role, rules: [], metadata: protect(role) } as KubernetesObject)
  await cluster.update({ ...binding, subjects: [], metadata: protect(binding) } as KubernetesObject)
  await reconcileRoles(cluster.registry)
  assert.deepEqual(roleIn(cluster, 'system:discovery').rules, [])
  assert.deepEqual(bindingIn(cluster, 'system:discovery').subjects, [])
})

test('a binding with another roleRef is recreated', async t => {
  const cluster = await startTestCluster(t)
  const binding = bindingIn(cluster, 'system:discovery')
  await cluster.remove(binding)
  const { uid } = (
    await cluster.create({
      ...binding,
      metadata: { name: 'system:discovery' },
      roleRef: { ...binding.roleRef, name: 'view' },
    } as KubernetesObject)
  ).metadata
  await reconcileRoles(cluster.registry)
  const after = bindingIn(cluster, 'system:discovery')
  assert.equal(after.roleRef.name, 'system:discovery')
  assert.notEqual(after.metadata.uid, uid)
})

test('aggregated roles get the rules of matching roles, including custom ones', async t => {
  const cluster = await startTestCluster(t)
  const crontabs = { verbs: ['get'], apiGroups: ['example.com'], resources: ['crontabs'] }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  await cluster.create({
    kind: 'ClusterRole',
    apiVersion,
    metadata: { name: 'crontabs', labels },
    rules: [crontabs],
  } as KubernetesObject)
  await cluster.create({
    kind: 'ClusterRole',
    apiVersion,
    metadata: { name: 'gathers' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] },
  } as KubernetesObject)
  await reconcileRoles(cluster.registry)
  for (const name of ['view', 'edit', 'admin', 'gathers']) {
    const { rules = [] } = roleIn(cluster, name)
    assert.ok(
      rules.some(({ resources }) => resources?.includes('crontabs')),
      name,
    )
    assert.equal(rules.filter(({ resources }) => resources?.includes('crontabs')).length, 1)
  }
})

test('two servers can reconcile bootstrap roles concurrently', async t => {
  const cluster = await startTestCluster(t, { withoutRoles: true })
  await Promise.all([reconcileRoles(cluster.registry), reconcileRoles(cluster.registry)])
  assert.equal(
    [...cluster.registry.cache.list('/registry/clusterroles/')].length,
    bootstrapRoles().clusterRoles.length,
  )
})

test('the bootstrap plan of an empty cluster creates every role once', () => {
  const none = {
    clusterRoles: new Map(),
    clusterRoleBindings: new Map(),
    roles: new Map(),
    roleBindings: new Map(),
  }
  const plan = planBootstrap(bootstrapRoles(), none)
  assert.ok(plan.every(({ action }) => action === 'create'))
  const admin = plan.find(({ object }) => object.kind === 'ClusterRole' && object.metadata.name === 'admin')
  assert.ok(((admin?.object as ClusterRole | undefined)?.rules?.length ?? 0) > 20)
})

test('aggregation terminates for cycles and invalid selectors', () => {
  const gathering = (name: string, from: object, ...verbs: readonly string[]): [string, ClusterRole] => [
    `/${name}`,
    {
      metadata: { name, labels: { name } },
      aggregationRule: { clusterRoleSelectors: [from] },
      rules: verbs.map(verb => ({ verbs: [verb] })),
    },
  ]
  const roles = withAggregatedRules(
    new Map([
      gathering('a', { matchLabels: { name: 'b' } }, 'x'),
      gathering('b', { matchLabels: { name: 'a' } }, 'y'),
      gathering('c', { matchLabels: { name: 'not a value!' } }, 'z'),
      gathering('d', {}, 'z'),
    ]),
  )
  assert.deepEqual(roles.get('/a')?.rules, roles.get('/b')?.rules)
  assert.deepEqual(roles.get('/c')?.rules, [])
})
