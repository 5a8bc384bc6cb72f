import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterRole } from '#/api/generated/rbac/v1.ts'
import { clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { keyOf } from '../registry/store-keys.ts'
import type { UserInfo } from '../request.ts'
import { bootstrapRoles } from './bootstrap-roles.ts'
import { uncoveredRules } from './rbac/uncovered-rules.ts'
import { startTestCluster } from './test-cluster.ts'

/**
 * One line per user and decision: verbs, resources and namespace. Every combination of verb and resource is a
 * test case.
 */
const table = `
administrator yes | get,delete,escalate,bind | pods,secrets,roles.rbac.authorization.k8s.io,x.example.com | team/a
administrator yes | get,post | /healthz,/metrics,/apis,/anything | -
viewer yes | get,list,watch | pods,services,configmaps,serviceaccounts,pods/log,deployments/scale.apps | team/a
viewer yes | get,list,watch | jobs.batch,ingresses.networking.k8s.io,endpointslices.discovery.k8s.io,events | other/
viewer no | get,list,watch | secrets,roles.rbac.authorization.k8s.io,pods/exec,nodes,leases.coordination.k8s.io | team/a
viewer no | create,update,patch,delete,deletecollection | pods,configmaps,deployments.apps | team/a
viewer no | get | persistentvolumes,clusterroles.rbac.authorization.k8s.io | a
editor yes | create,update,patch,delete,deletecollection | pods,secrets,configmaps,deployments.apps,jobs.batch | team/a
editor yes | create | pods/exec,pods/portforward,pods/eviction,serviceaccounts/token | team/a
editor yes | get,list,watch | secrets,pods,pods/log,resourcequotas,namespaces,leases.coordination.k8s.io | team/a
editor yes | impersonate | serviceaccounts | team/default
editor yes | update,patch | deployments/scale.apps,statefulsets/scale.apps | team/a
editor no | create,update,delete | resourcequotas,limitranges,roles.rbac.authorization.k8s.io,namespaces | team/a
editor no | update,patch | pods/status,deployments/status.apps | team/a
editor no | get,create,delete | pods,secrets,deployments.apps | other/a
editor no | list | pods,secrets,nodes | -
owner yes | create,update,delete | roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io,pods | team/a
owner yes | create | localsubjectaccessreviews.authorization.k8s.io | team/
owner no | create | clusterroles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io | other/a
owner no | escalate,bind | roles.rbac.authorization.k8s.io | team/a
nobody yes | get | /api,/api/v1,/apis,/apis/apps/v1,/openapi/v3,/healthz,/livez,/readyz,/version | -
nobody yes | create | selfsubjectaccessreviews.authorization.k8s.io,selfsubjectrulesreviews.authorization.k8s.io | -
nobody yes | create | selfsubjectreviews.authentication.k8s.io | -
nobody no | get,list | pods,nodes,configmaps | team/a
nobody no | get | /metrics,/logs,/debug/pprof,/healthz/etcd,/.well-known/openid-configuration | -
nobody no | post,delete | /api,/version | -
nobody no | create | subjectaccessreviews.authorization.k8s.io,tokenreviews.authentication.k8s.io | -
anonymous yes | get | /healthz,/livez,/readyz,/version,/version/ | -
anonymous no | get | /api,/apis,/openapi/v2,/metrics,/healthz/etcd | -
anonymous no | get,list,create | pods,secrets | team/a
anonymous no | create | selfsubjectaccessreviews.authorization.k8s.io | -
monitor yes | get | /metrics,/metrics/slis,/healthz/etcd,/livez/ping,/readyz/ping | -
monitor yes | get | nodes/metrics | a
monitor no | get | nodes,nodes/proxy,pods | team/a
account yes | get | /openid/v1/jwks,/.well-known/openid-configuration,/api | -
account no | get | secrets,pods | team/a
scheduler yes | get,list,watch | pods,nodes,persistentvolumeclaims,csinodes.storage.k8s.io,replicasets.apps | team/a
scheduler yes | create | pods/binding,bindings,events | team/a
scheduler yes | get,update | leases.coordination.k8s.io | kube-system/kube-scheduler
scheduler yes | patch,update | pods/status,persistentvolumes | team/a
scheduler no | update,patch | pods,nodes | team/a
scheduler no | get | secrets,configmaps | team/a
scheduler no | update | leases.coordination.k8s.io | default/other
scheduler yes | get | configmaps | kube-system/extension-apiserver-authentication
managerprocess yes | list,watch | pods,secrets,x.example.com | team/
managerprocess yes | create | serviceaccounts/token,tokenreviews.authentication.k8s.io | team/a
managerprocess no | get,delete | pods,nodes | team/a
deployments yes | create,delete,patch | replicasets.apps | team/a
deployments yes | update | deployments/status.apps,deployments/finalizers.apps,pods | team/a
deployments no | create,delete | pods,deployments.apps,secrets | team/a
replicasets yes | create,delete,patch,list,watch | pods | team/a
replicasets no | get | secrets,configmaps | team/a
collector yes | get,list,watch,patch,update,delete | pods,x.example.com,clusterroles.rbac.authorization.k8s.io | team/a
collector no | create,deletecollection,escalate | pods,clusterroles.rbac.authorization.k8s.io | team/a
namespaces yes | delete,deletecollection,list | pods,x.example.com | team/a
namespaces yes | update | namespaces/finalize | a/a
namespaces no | create,update | pods | team/a
autoscaler yes | get,update | deployments/scale.apps,x/scale.example.com | team/a
autoscaler no | get,update | deployments.apps,deployments/status.apps | team/a
aggregation yes | escalate,update,patch | clusterroles.rbac.authorization.k8s.io | a
aggregation no | escalate,update | roles.rbac.authorization.k8s.io | team/a
certificates yes | sign | signers.certificates.k8s.io | /kubernetes.io/kubelet-serving
certificates no | sign | signers.certificates.k8s.io | /example.com/mine
proxy yes | list,watch | services,endpointslices.discovery.k8s.io,nodes | -
proxy no | get | secrets,services | team/a
dns yes | list,watch | services,endpoints | -
dns no | get,list | pods,secrets | team/a
cleaner yes | get,delete | secrets | kube-system/a
cleaner no | get,delete | secrets | team/a
`

const authenticated = 'system:authenticated'

function user(username: string, ...groups: readonly string[]): UserInfo {
  return { username, groups: [...groups, authenticated] }
}

function account(namespace: string, name: string): UserInfo {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  return user(`system:serviceaccount:${namespace}:${name}`, ...groups)
}

function controller(name: string): UserInfo {
  return account('kube-system', name)
}

const users: Readonly<Record<string, UserInfo>> = {
  administrator: user('root', 'system:masters'),
  viewer: user('vera'),
  editor: user('edith', 'team'),
  owner: user('olga'),
  nobody: user('niels'),
  anonymous: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
  monitor: user('prometheus', 'system:monitoring'),
  account: account('team', 'default'),
  scheduler: user('system:kube-scheduler'),
  managerprocess: user('system:kube-controller-manager'),
  proxy: user('system:kube-proxy'),
  dns: controller('kube-dns'),
  deployments: controller('deployment-controller'),
  replicasets: controller('replicaset-controller'),
  collector: controller('generic-garbage-collector'),
  namespaces: controller('namespace-controller'),
  autoscaler: controller('horizontal-pod-autoscaler'),
  aggregation: controller('clusterrole-aggregation-controller'),
  certificates: controller('certificate-controller'),
  cleaner: controller('token-cleaner'),
}

const apiVersion = 'rbac.authorization.k8s.io/v1'
const apiGroup = 'rbac.authorization.k8s.io'

test('bootstrap roles allow exactly the documented permissions', async t => {
  const cluster = await startTestCluster(t)
  const bind = (role: string, kind: string, name: string): Parameters<typeof cluster.create>[0] => {
    const roleRef = { apiGroup, kind: 'ClusterRole', name: role }
    const binding = { apiVersion, roleRef, subjects: [{ kind, name, apiGroup }] }
    return role === 'view'
      ? { kind: 'ClusterRoleBinding', metadata: { name: role }, ...binding }
      : { kind: 'RoleBinding', metadata: { name: role, namespace: 'team' }, ...binding }
  }
  await cluster.create(bind('view', 'User', 'vera'))
  await cluster.create(bind('edit', 'Group', 'team'))
  await cluster.create(bind('admin', 'User', 'olga'))
  let cases = 0
  for (const line of table.trim().split('\n')) {
    const [who = '', verbs = '', resources = '', where = ''] = line.split('|').map(part => part.trim())
    const [name = '', answer = ''] = who.split(' ')
    const asking = users[name]
    assert.ok(asking, `there is a user ${name}`)
    for (const verb of verbs.split(',')) {
      for (const resource of resources.split(',')) {
        const question = `${verb} ${resource}${where === '-' ? '' : ` ${where}`}`
        assert.equal(await cluster.may(asking, question), answer === 'yes', `${name} ${answer}: ${question}`)
        cases++
      }
    }
  }
  assert.ok(cases >= 300, `${cases} cases`)
})

test('admin aggregates edit, and edit aggregates view', async t => {
  const { registry } = await startTestCluster(t)
  const rulesOf = (name: string): NonNullable<ClusterRole['rules']> => {
    return (registry.cache.get(keyOf(clusterRoles, '', name))!.object as ClusterRole).rules ?? []
  }
  const missing = (held: string, wanted: string): number =>
    uncoveredRules(rulesOf(held), rulesOf(wanted)).length
  assert.equal(missing('view', 'system:aggregate-to-view'), 0)
  assert.equal(missing('edit', 'view'), 0)
  assert.equal(missing('edit', 'system:aggregate-to-edit'), 0)
  assert.equal(missing('admin', 'edit'), 0)
  assert.equal(missing('admin', 'system:aggregate-to-admin'), 0)
  assert.equal(missing('cluster-admin', 'system:kube-controller-manager'), 0)
  assert.ok(
    missing('view', 'edit') > 0 && missing('edit', 'admin') > 0 && missing('admin', 'cluster-admin') > 0,
  )
})

test('every controller has a ClusterRole and a binding to its service account', () => {
  const { clusterRoles: all, clusterRoleBindings: bindings } = bootstrapRoles()
  const names = all.map(({ metadata }) => metadata.name ?? '')
  assert.equal(new Set(names).size, names.length)
  assert.equal(names.length, 70)
  const controllers = names.filter(name => name.startsWith('system:controller:'))
  assert.equal(controllers.length, 38)
  for (const name of controllers) {
    const binding = bindings.find(({ metadata }) => metadata.name === name)
    assert.deepEqual(binding?.subjects, [
      { kind: 'ServiceAccount', name: name.slice('system:controller:'.length), namespace: 'kube-system' },
    ])
  }
  for (const { metadata, rules = [] } of all) {
    assert.equal(metadata.labels?.['kubernetes.io/bootstrapping'], 'rbac-defaults')
    for (const rule of rules)
      assert.ok(rule.verbs.length > 0 && !rule.resources?.includes('='), metadata.name ?? '')
  }
})
