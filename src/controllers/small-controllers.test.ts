/** Tests of several small controllers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterRole } from '#/api/generated/rbac/v1.ts'
import { configMaps, namespaces, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { clusterRoleAggregationController } from './cluster-role-aggregation.ts'
import { rootCaPublisherController } from './root-ca-publisher.ts'
import { serviceAccountController } from './service-account.ts'
import { startTestControlPlane } from './test-control-plane.ts'

test('every namespace has the default service account, recreated when deleted', async t => {
  const plane = await startTestControlPlane(t, [serviceAccountController])
  await plane.create(namespaces, { metadata: { name: 'new' } })
  const names = async (): Promise<readonly unknown[]> => {
    return (await plane.list(serviceAccounts, 'new')).map(account => account.metadata.name)
  }
  assert.deepEqual(await names(), ['default'])
  await plane.run(plane.client.delete(serviceAccounts, { namespace: 'new', name: 'default' }))
  await plane.settle()
  assert.deepEqual(await names(), ['default'])
})

test('every namespace has kube-root-ca.crt with only the CA certificate', async t => {
  const plane = await startTestControlPlane(t, [rootCaPublisherController({ caCertificate: 'PEM' })])
  await plane.create(namespaces, { metadata: { name: 'new' } })
  const data = async (): Promise<unknown> => (await plane.list(configMaps, 'new'))[0]?.data
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
  await plane.change(configMaps, 'new/kube-root-ca.crt', map => ({
    ...map,
    data: { 'ca.crt': 'forged', 'more': 'x' },
  }))
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
  await plane.run(plane.client.delete(configMaps, { namespace: 'new', name: 'kube-root-ca.crt' }))
  await plane.settle()
  assert.deepEqual(await data(), { 'ca.crt': 'PEM' })
})

test('an aggregated ClusterRole follows the rules of the selected roles', async t => {
  const plane = await startTestControlPlane(t, [clusterRoleAggregationController])
  const rule = (verb: string): { verbs: string[]; apiGroups: string[]; resources: string[] } => {
    return { verbs: [verb], apiGroups: ['example.com'], resources: ['things'] }
  }
  await plane.create(clusterRoles, {
    metadata: { name: 'whole' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: 'yes' } }] },
  })
  const part = (name: string, verb: string): ClusterRole => ({
    metadata: { name, labels: { part: 'yes' } },
    rules: [rule(verb)],
  })
  await plane.create(clusterRoles, part('b', 'get'))
  await plane.create(clusterRoles, part('a', 'list'))
  await plane.create(clusterRoles, part('c', 'list'))
  const verbs = async (): Promise<readonly unknown[]> => {
    const roles = await plane.list(clusterRoles)
    return roles.find(role => role.metadata.name === 'whole')?.rules?.flatMap(each => each.verbs) ?? []
  }
  assert.deepEqual(await verbs(), ['list', 'get'])
  await plane.change(clusterRoles, 'b', role => ({ ...role, metadata: { ...role.metadata, labels: {} } }))
  assert.deepEqual(await verbs(), ['list'])
  const view = (await plane.list(clusterRoles)).find(role => role.metadata.name === 'view')
  assert.ok((view?.rules?.length ?? 0) > 5)
})
