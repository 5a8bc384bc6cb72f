/**
 * Authorization with the default roles: checked by access reviews and by real requests. The table is based on
 * the documentation of the roles, not on their rules.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '#/api/transport.ts'
import { startTestServer, type TestServer } from '#/apiserver/test-server.ts'
import { bindings, configMap, createObjects, namespace, users, pod, secret } from './users.ts'

/**
 * One line for each user and result: the verbs, the resources, and the place: `namespace/name`, a namespace
 * with a slash, a name, or `-` for all. Each verb with each resource is a case.
 */
const table = `
administrator yes | get,update,delete | pods,secrets,nodes,clusterroles.rbac.authorization.k8s.io | team/a
administrator yes | list,deletecollection | secrets,pods,widgets.example.com | team/
administrator yes | escalate,bind,impersonate,anything | users,clusterroles.rbac.authorization.k8s.io | a
administrator yes | get | /metrics,/healthz/etcd,/logs,/openapi/v2 | -
viewer yes | get | pods,configmaps,services | team/a
viewer yes | get | endpoints,serviceaccounts,deployments.apps,ingresses.networking.k8s.io | team/a
viewer yes | list,watch | pods,events,jobs.batch,replicasets.apps,horizontalpodautoscalers.autoscaling | -
viewer yes | get | pods/status,pods/log,deployments/scale.apps,poddisruptionbudgets.policy,resourcequotas | other/a
viewer no | get,list,watch | secrets | team/a
viewer no | get | roles.rbac.authorization.k8s.io | team/a
viewer no | get | rolebindings.rbac.authorization.k8s.io,leases.coordination.k8s.io | team/a
viewer no | create,update,patch,delete | pods,configmaps,deployments.apps | team/a
viewer no | deletecollection | pods,events | team/
viewer no | get,create | pods/exec,pods/attach,pods/portforward,pods/proxy | team/a
viewer no | create | serviceaccounts/token,pods/eviction,pods/binding | team/a
viewer no | get,list | nodes,persistentvolumes,storageclasses.storage.k8s.io | a
viewer no | impersonate | users,serviceaccounts | team/a
viewer no | get | /metrics,/logs | -
editor yes | get,create,update,patch,delete | pods,secrets,configmaps,services,deployments.apps,jobs.batch | team/a
editor yes | list,watch,deletecollection | pods,secrets,ingresses.networking.k8s.io,leases.coordination.k8s.io | team/
editor yes | create | pods/exec,pods/attach,pods/portforward,pods/eviction,serviceaccounts/token | team/a
editor yes | update,patch | deployments/scale.apps,statefulsets/scale.apps,replicationcontrollers/scale | team/a
editor yes | impersonate | serviceaccounts | team/default
editor yes | get | resourcequotas,limitranges | team/a
editor yes | get | namespaces | team/team
editor no | create,update,delete | resourcequotas,limitranges,endpoints,endpointslices.discovery.k8s.io | team/a
editor no | get,create | roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io | team/a
editor no | update,patch | pods/status,deployments/status.apps,pods/ephemeralcontainers | team/a
editor no | create | pods/binding,localsubjectaccessreviews.authorization.k8s.io | team/a
editor no | get,list,create,delete | pods,secrets | other/a
editor no | get,list,delete | nodes,persistentvolumes,clusterroles.rbac.authorization.k8s.io | a
editor no | list | secrets,pods | -
editor no | impersonate | users,groups,serviceaccounts | other/default
owner yes | create,update,delete | roles.rbac.authorization.k8s.io | team/a
owner yes | create,update,delete | rolebindings.rbac.authorization.k8s.io,secrets | team/a
owner yes | create | localsubjectaccessreviews.authorization.k8s.io | team/
owner no | create,update,delete | resourcequotas,namespaces,limitranges | team/a
owner no | escalate,bind | roles.rbac.authorization.k8s.io,clusterroles.rbac.authorization.k8s.io | team/a
owner no | create,delete | rolebindings.rbac.authorization.k8s.io,secrets,pods | other/a
owner no | create | clusterrolebindings.rbac.authorization.k8s.io,subjectaccessreviews.authorization.k8s.io | -
nobody yes | get | /api,/api/v1,/apis,/apis/apps/v1,/openapi/v3,/healthz,/livez,/readyz,/version | -
nobody yes | create | selfsubjectaccessreviews.authorization.k8s.io,selfsubjectreviews.authentication.k8s.io | -
nobody yes | create | selfsubjectrulesreviews.authorization.k8s.io | -
nobody no | get,list,watch,create,update,patch,delete | pods,secrets,configmaps | team/a
nobody no | create | subjectaccessreviews.authorization.k8s.io,tokenreviews.authentication.k8s.io | -
nobody no | create | certificatesigningrequests.certificates.k8s.io,namespaces,nodes | -
nobody no | impersonate | users,groups,uids.authentication.k8s.io | root
nobody no | get | /metrics,/healthz/etcd,/openid/v1/jwks,/.well-known/openid-configuration | -
anonymous yes | get | /healthz,/livez,/readyz,/version,/version/ | -
anonymous no | get | /,/api,/api/v1,/apis,/openapi/v2,/openapi/v3,/metrics,/logs,/healthz/etcd,/openid/v1/jwks | -
anonymous no | get,list,watch,create,delete | pods,secrets,configmaps,nodes | team/a
anonymous no | create | selfsubjectaccessreviews.authorization.k8s.io,selfsubjectreviews.authentication.k8s.io | -
anonymous no | create | certificatesigningrequests.certificates.k8s.io,tokenreviews.authentication.k8s.io | -
mine yes | get,update,patch | nodes | mine
mine yes | update,patch | nodes/status | mine
mine yes | get | secrets,configmaps,persistentvolumeclaims | team/own
mine yes | create | serviceaccounts/token | team/own
mine yes | get | pods | team/own
mine yes | create,update,delete | leases.coordination.k8s.io | kube-node-lease/mine
mine yes | list,watch | services,runtimeclasses.node.k8s.io,csidrivers.storage.k8s.io | -
mine yes | create | tokenreviews.authentication.k8s.io,subjectaccessreviews.authorization.k8s.io,events | team/
mine no | get | secrets,configmaps,persistentvolumeclaims,pods | team/foreign
mine no | create | serviceaccounts/token | team/foreign
mine no | list,watch | secrets,configmaps,pods,nodes | -
mine no | create,update,delete | secrets,configmaps,deployments.apps,services | team/own
mine no | get | nodes,csinodes.storage.k8s.io,nodes/proxy | other
mine no | update,delete | leases.coordination.k8s.io | kube-node-lease/other
mine no | update,delete | leases.coordination.k8s.io | kube-system/kube-scheduler
mine no | create,get | pods/exec,pods/log,pods/portforward,pods/binding | team/own
mine no | get | /metrics,/logs | -
mine no | impersonate | users,serviceaccounts | team/own
monitor yes | get | /metrics,/healthz/etcd,/livez/ping,/readyz/ping | -
monitor yes | get | nodes/metrics | a
monitor no | get,list | pods,nodes,secrets,nodes/proxy | team/a
scheduler yes | get,list,watch | pods,nodes,persistentvolumeclaims,namespaces,csinodes.storage.k8s.io | -
scheduler yes | create | pods/binding,events | team/a
scheduler yes | update,patch | pods/status | team/a
scheduler no | get,list | secrets,configmaps,serviceaccounts | team/a
scheduler no | create,update | pods,nodes,deployments.apps | team/a
manager yes | list,watch | secrets,pods,widgets.example.com | -
manager yes | create | serviceaccounts/token,tokenreviews.authentication.k8s.io | team/a
manager no | delete,update | pods,nodes,namespaces,deployments.apps | team/a
proxy yes | list,watch | services,endpointslices.discovery.k8s.io,nodes | -
proxy no | get,list | secrets,pods,configmaps | team/a
pod yes | get | /openid/v1/jwks,/.well-known/openid-configuration,/api,/version | -
pod no | get,list,create | pods,secrets,configmaps,serviceaccounts | team/a
pod no | create | serviceaccounts/token | team/default
deployments yes | create,update,patch,delete | replicasets.apps | team/a
deployments yes | update | deployments/status.apps,deployments/finalizers.apps | team/a
deployments no | create,delete | pods,deployments.apps,secrets | team/a
deployments no | get | secrets,configmaps,nodes | team/a
replicasets yes | create,delete,patch | pods | team/a
replicasets no | create,delete | replicasets.apps,deployments.apps | team/a
statefulsets yes | create,update,delete | pods,controllerrevisions.apps,persistentvolumeclaims | team/a
statefulsets no | get | secrets | team/a
jobs yes | create,delete | pods | team/a
jobs yes | update | jobs/status.batch | team/a
jobs no | create,delete | jobs.batch | team/a
collector yes | get,list,watch,patch,update,delete | pods,secrets,widgets.example.com | team/a
collector no | create,impersonate,escalate | pods,clusterroles.rbac.authorization.k8s.io | team/a
namespaces yes | get,list,delete,deletecollection | pods,secrets,widgets.example.com | team/
namespaces yes | update | namespaces/finalize | a/a
namespaces no | create,update,patch | pods,secrets | team/a
quotas yes | list,watch | pods,secrets,widgets.example.com | -
quotas yes | update | resourcequotas/status | team/a
quotas no | get,update,delete | resourcequotas,pods | team/a
nodes yes | get,update,patch,delete | nodes | a
nodes yes | delete | pods | team/a
nodes no | create | nodes,pods | team/a
nodes no | get,list | secrets,configmaps | team/a
endpoints yes | create,update,delete | endpointslices.discovery.k8s.io | team/a
endpoints no | create,update,delete | endpoints,services,pods | team/a
claims yes | create,update,delete | persistentvolumes | a
claims no | create,delete | persistentvolumeclaims | team/a
claims no | get | secrets | team/a
tokens yes | get,list,delete | secrets | kube-system/a
tokens no | get,list,delete | secrets | team/a
`

interface Case {
  readonly who: string
  readonly expected: boolean
  readonly verb: string
  readonly what: string
  readonly where: string
}

function readTable(): readonly Case[] {
  return table
    .trim()
    .split('\n')
    .flatMap(line => {
      const [head = '', verbs = '', resources = '', where = ''] = line.split('|').map(part => part.trim())
      const [who = '', answer = ''] = head.split(' ')
      return verbs
        .split(',')
        .flatMap(verb =>
          resources.split(',').map(what => ({ who, expected: answer === 'yes', verb, what, where })),
        )
    })
}

const cases = readTable()

async function start(t: Parameters<typeof startTestServer>[0]): Promise<TestServer> {
  const server = await startTestServer(t)
  const inTeam = '/api/v1/namespaces/team'
  const claim = (name: string): object => ({
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
  /** A pod on a node, with all objects that it references, each named after it. */
  const withNeeds = (name: string, nodeName: string): readonly (readonly [string, object])[] => [
    [`${inTeam}/serviceaccounts`, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } }],
    [`${inTeam}/secrets`, secret(name)],
    [`${inTeam}/configmaps`, configMap(name)],
    [`${inTeam}/persistentvolumeclaims`, claim(name)],
    [
      `${inTeam}/pods`,
      pod(name, {
        nodeName,
        serviceAccountName: name,
        volumes: [
          { name: 's', secret: { secretName: name } },
          { name: 'c', configMap: { name } },
          { name: 'p', persistentVolumeClaim: { claimName: name } },
        ],
      }),
    ],
  ]
  await createObjects(server, [
    ['/api/v1/namespaces', namespace('team')],
    ['/api/v1/namespaces', namespace('other')],
    ...bindings,
    ['/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: 'mine' } }],
    ['/api/v1/nodes', { kind: 'Node', apiVersion: 'v1', metadata: { name: 'other' } }],
    ...withNeeds('own', 'mine'),
    ...withNeeds('foreign', 'other'),
  ])
  return server
}

/** `namespace/name`, `namespace/`, `name` or `-`. */
function place(where: string): { readonly namespace: string; readonly name: string } {
  if (where === '-') return { namespace: '', name: '' }
  const slash = where.indexOf('/')
  return { namespace: where.slice(0, Math.max(0, slash)), name: where.slice(slash + 1) }
}

function readResource(what: string): Readonly<Record<'group' | 'resource' | 'subresource', string>> {
  const dot = what.indexOf('.')
  const [resource = '', subresource = ''] = (dot === -1 ? what : what.slice(0, dot)).split('/')
  return { group: dot === -1 ? '' : what.slice(dot + 1), resource, subresource }
}

test('SubjectAccessReviews agree with the authorization table of at least 200 cases', async t => {
  const { request } = await start(t)
  assert.ok(cases.length >= 200)
  t.diagnostic(`${cases.length} cases`)
  for (const { who, expected, verb, what, where } of cases) {
    const { username, groups } = userNamed(who)
    const asked = what.startsWith('/')
      ? { nonResourceAttributes: { verb, path: what } }
      : { resourceAttributes: { verb, ...readResource(what), ...place(where) } }
    const { code, body, text } = await request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { user: username, groups, ...asked },
    })
    assert.equal(code, 201, text)
    const { allowed } = body.status as unknown as { readonly allowed: boolean }
    assert.equal(allowed, expected, `${who} ${verb} ${what} ${where}`)
  }
})

test('requests of every user are decided as in the authorization table', async t => {
  const server = await start(t)
  let tried = 0
  for (const each of cases) {
    const request = requestFor(server, each)
    if (request === undefined) continue
    const { who, expected, verb, what, where } = each
    const { code, text } = await server.as(userNamed(who))(...request)
    const isRefused = code === 403 && /orbidden: User \\"[^"]+\\" cannot /.test(text)
    assert.ok(code < 500, text)
    assert.equal(isRefused, !expected, `${who} ${verb} ${what} ${where}: ${code} ${text}`)
    tried++
  }
  t.diagnostic(`${tried} requests`)
  assert.ok(tried >= 200)
})

function userNamed(who: string): UserInfo {
  const user = (users as Readonly<Record<string, UserInfo>>)[who]
  assert.ok(user, `there is a user ${who}`)
  return user
}

const methods: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
}

const ofMany: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])

/** A request without side effects that needs the verb; undefined when there is none. */
function requestFor(
  { server }: TestServer,
  { verb, what, where }: Case,
): Parameters<TestServer['request']> | undefined {
  if (what.startsWith('/')) return [verb.toUpperCase(), what]
  const method = methods[verb]
  const { group, resource, subresource } = readResource(what)
  const { namespace: inside, name } = place(where)
  const known = server.scheme.resources().find(each => each.group === group && each.plural === resource)
  // Verbs without a request, or a resource that does not exist.
  if (method === undefined || (known === undefined && group !== 'example.com')) return undefined
  const isNamespaced = known?.scope !== 'Cluster' && inside !== ''
  const isOne = name !== '' && (verb !== 'create' || subresource !== '')
  if (isOne ? ofMany.has(verb) : !ofMany.has(verb) && verb !== 'create') return undefined
  const root = group === '' ? '/api/v1' : `/apis/${group}/${known?.version ?? 'v1'}`
  const parts = [
    root,
    ...(isNamespaced ? ['namespaces', inside] : []),
    resource,
    ...(isOne ? [name] : []),
    ...(subresource === '' ? [] : [subresource]),
  ]
  const type = verb === 'patch' ? 'application/merge-patch+json' : 'application/json'
  const body = method === 'GET' ? undefined : {}
  const query = verb === 'watch' ? 'watch=1' : 'dryRun=All'
  return [method, `${parts.join('/')}?${query}`, body, { 'content-type': type }]
}
