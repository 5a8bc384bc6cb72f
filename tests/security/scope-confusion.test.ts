/**
 * The scope of a request matches that of its object: rights in a namespace give no access outside of it, and
 * the right to list one kind gives no access to another (CVE-2019-11247, CVE-2022-3162).
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { UserInfo } from '#/api/transport.ts'
import type { Resource, Scope } from '#/api/resource.ts'
import { startTestServer, type TestServer } from '#/apiserver/test-server.ts'
import { configMap, createObjects, namespace, secret } from './users.ts'

/** Has all rights in the namespace `team` and none elsewhere. */
const tenant: UserInfo = { username: 'tina', groups: ['system:authenticated'] }
/** May read widgets in all namespaces, and nothing else. */
const reader: UserInfo = { username: 'rudi', groups: ['system:authenticated'] }

const apiGroup = 'rbac.authorization.k8s.io'
const rbac = `/apis/${apiGroup}/v1`
const group = 'example.com'
const custom = `/apis/${group}/v1`

function customResource(plural: string, kind: string, scope: Scope): Resource {
  return {
    group,
    version: 'v1',
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    scope,
    shortNames: [],
    categories: [],
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: anything,
    subresources: new Map(),
    storage: { group, version: 'v1' },
  }
}

const anything: Resource['schema'] = {
  type: 'struct',
  name: '',
  fields: new Map(),
  atomic: false,
  preserveUnknownFields: true,
}

async function start(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t)
  server.server.scheme.register(
    customResource('clusterwidgets', 'ClusterWidget', 'Cluster'),
    customResource('widgets', 'Widget', 'Namespaced'),
    customResource('widgetsecrets', 'WidgetSecret', 'Namespaced'),
  )
  const role = (kind: string, name: string, rules: readonly object[]): object => ({
    kind,
    metadata: { name },
    rules,
  })
  const binding = (kind: string, roleKind: string, name: string, user: UserInfo): object => ({
    kind,
    metadata: { name },
    roleRef: { apiGroup, kind: roleKind, name },
    subjects: [{ apiGroup, kind: 'User', name: user.username }],
  })
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
  const reading = [{ apiGroups: [group], resources: ['widgets'], verbs: ['get', 'list', 'watch'] }]
  await createObjects(server, [
    ['/api/v1/namespaces', namespace('team')],
    ['/api/v1/namespaces', namespace('other', { mark: 'foreign' })],
    ['/api/v1/namespaces', namespace('te')],
    ['/api/v1/namespaces', namespace('team-2')],
    [`${rbac}/namespaces/team/roles`, role('Role', 'tenant', everything)],
    [`${rbac}/namespaces/team/rolebindings`, binding('RoleBinding', 'Role', 'tenant', tenant)],
    [`${rbac}/clusterroles`, role('ClusterRole', 'reader', reading)],
    [`${rbac}/clusterrolebindings`, binding('ClusterRoleBinding', 'ClusterRole', 'reader', reader)],
    ['/api/v1/nodes', { kind: 'Node', metadata: { name: 'n1', labels: { mark: 'foreign' } } }],
    [`${custom}/clusterwidgets`, { ...head('ClusterWidget', 'shared'), mark: 'foreign' }],
    [`${custom}/namespaces/other/widgets`, { ...head('Widget', 'plain'), mark: 'widget' }],
    [`${custom}/namespaces/other/widgetsecrets`, { ...head('WidgetSecret', 'hidden'), mark: 'foreign' }],
    [
      '/api/v1/namespaces/other/secrets',
      { ...secret('s'), metadata: { name: 's', labels: { mark: 'foreign' } } },
    ],
    [
      '/api/v1/namespaces/team-2/secrets',
      { ...secret('s'), metadata: { name: 's', labels: { mark: 'foreign' } } },
    ],
    ['/api/v1/namespaces/team/configmaps', configMap('own')],
  ])
  return server
}

function head(kind: string, name: string): object {
  return { apiVersion: `${group}/v1`, kind, metadata: { name } }
}

/** Cluster-scoped objects under a namespaced path, with names that exist. */
const underNamespace = [
  `${custom}/namespaces/team/clusterwidgets`,
  '/api/v1/namespaces/team/nodes',
  '/api/v1/namespaces/team/persistentvolumes',
  '/api/v1/namespaces/team/namespaces',
  `${rbac}/namespaces/team/clusterroles`,
  `${rbac}/namespaces/team/clusterrolebindings`,
  '/apis/storage.k8s.io/v1/namespaces/team/storageclasses',
  '/apis/apiextensions.k8s.io/v1/namespaces/team/customresourcedefinitions',
  '/apis/certificates.k8s.io/v1/namespaces/team/certificatesigningrequests',
]
const names: Readonly<Record<string, string>> = {
  clusterwidgets: 'shared',
  nodes: 'n1',
  namespaces: 'other',
  clusterroles: 'cluster-admin',
  clusterrolebindings: 'cluster-admin',
}

test('cluster-scoped custom resources are not found under a namespaced path (CVE-2019-11247)', async t => {
  const { as, request } = await start(t)
  const merge = { 'content-type': 'application/merge-patch+json' }
  for (const folder of underNamespace) {
    const name = names[folder.split('/').at(-1)!] ?? 'x'
    const attempts = [
      ['GET', folder],
      ['GET', `${folder}?watch=1`],
      ['GET', `${folder}/${name}`],
      ['GET', `${folder}/${name}/status`],
      ['POST', folder, { metadata: { name: 'new' } }],
      ['PUT', `${folder}/${name}`, { metadata: { name } }],
      ['PUT', `${folder}/${name}/finalize`, { metadata: { name }, spec: { finalizers: [] } }],
      ['PATCH', `${folder}/${name}`, { metadata: { labels: { taken: 'yes' } } }, merge],
      ['DELETE', `${folder}/${name}`],
      ['DELETE', folder],
    ] as const
    for (const [method, url, body, headers] of attempts) {
      const { code, text } = await as(tenant)(method, url, body, headers)
      assert.equal(code, 404, `${method} ${url}: ${code} ${text}`)
      assert.doesNotMatch(text, /foreign/)
      // The administrator gets 404, too.
      if (method === 'GET') assert.equal((await request(method, url)).code, 404, url)
    }
  }
  assert.equal((await request('GET', '/api/v1/namespaces/other')).code, 200)
  assert.equal((await request('GET', `${custom}/clusterwidgets/shared`)).code, 200)
  assert.doesNotMatch((await request('GET', '/api/v1/nodes/n1')).text, /taken/)
})

test('a role in a namespace gives access to that namespace only, with any spelling of the path', async t => {
  const { as } = await start(t)
  const ask = as(tenant)
  assert.equal((await ask('GET', '/api/v1/namespaces/team/configmaps/own')).code, 200)
  assert.equal((await ask('GET', '/api/v1/namespaces/team')).code, 200)
  for (const path of [
    '/api/v1/namespaces/other',
    '/api/v1/namespaces/other/secrets',
    '/api/v1/namespaces/other/secrets/s',
    '/api/v1/namespaces/te/secrets',
    '/api/v1/namespaces/team-2/secrets',
    '/api/v1/namespaces/team-2/secrets/s',
    '/api/v1/namespaces/team%2F../other/secrets/s',
    '/api/v1/namespaces/team/../other/secrets/s',
    '/api/v1/namespaces/team/%2e%2e/other/secrets/s',
    '/api/v1/namespaces/team/secrets/..%2F..%2Fother%2Fsecrets%2Fs',
    '/api/v1/namespaces/team/secrets/../../other/secrets/s',
    '/api/v1/namespaces/team-%32/secrets/s',
    '/api/v1/namespaces/%6fther/secrets/s',
    '/api/v1/namespaces//secrets/s',
    '/api/v1/secrets',
    '/api/v1/secrets?fieldSelector=metadata.namespace%3Dteam',
    '/api/v1/namespaces/*/secrets',
    '/api/v1/namespaces/team,other/secrets',
    '/api/v1/namespaces/team%00/secrets',
    '/api/v1/watch/secrets',
    '/api/v1/watch/namespaces/other/secrets',
    '/api/v1/watch/namespaces/team/../other/secrets',
  ]) {
    const { code, text } = await ask('GET', path)
    assert.ok(code >= 400 && code < 500, `${path}: ${code} ${text}`)
    assert.doesNotMatch(text, /foreign/, path)
  }
  for (const token of ['..', 'other', '../other'].map(each => Buffer.from(each).toString('base64url'))) {
    const { code, text } = await ask('GET', `/api/v1/namespaces/team/secrets?limit=1&continue=${token}`)
    assert.ok(code >= 400 && code < 500, `${token}: ${code}`)
    assert.doesNotMatch(text, /foreign/)
  }
})

test('a continue token is valid only for its own resource and namespace', async t => {
  const { as, request } = await start(t)
  for (const name of ['zebra-1', 'zebra-2'])
    await request('POST', '/api/v1/namespaces/team/secrets', secret(name))
  const page = await as(tenant)('GET', '/api/v1/namespaces/team/secrets?limit=1')
  const token = String(page.body['metadata']['continue'])
  const content = Buffer.from(token, 'base64url').toString()
  assert.match(content, /zebra-1/)
  for (const start of [
    '../other/',
    '../other/s',
    '../../secrets/other/',
    '/registry/secrets/other/',
    '..',
    '',
    '\\u0000',
  ]) {
    const changed = Buffer.from(content.replaceAll('zebra-1', start)).toString('base64url')
    const url = `/api/v1/namespaces/team/secrets?limit=500&continue=${changed}`
    const { code, text } = await as(tenant)('GET', url)
    assert.ok(code < 500, text)
    assert.doesNotMatch(text, /foreign/, content)
  }
})

test('access to one custom resource gives no access to another of its group (CVE-2022-3162)', async t => {
  const { as } = await start(t)
  const ask = as(reader)
  const allowed = await ask('GET', `${custom}/widgets`)
  assert.equal(allowed.code, 200)
  assert.match(allowed.text, /"mark":"widget"/)
  assert.doesNotMatch(allowed.text, /foreign/)
  for (const path of [
    `${custom}/widgetsecrets`,
    `${custom}/namespaces/other/widgetsecrets/hidden`,
    `${custom}/widgets/../widgetsecrets`,
    `${custom}/widgets%2F..%2Fwidgetsecrets`,
    `${custom}/namespaces/other%2F..%2F..%2Fwidgetsecrets/widgets`,
    `${custom}/namespaces/..%2Fwidgetsecrets%2Fother/widgets`,
    `${custom}/namespaces/../widgetsecrets/widgets`,
    `${custom}/namespaces/other/widgets/..%2F..%2Fwidgetsecrets%2Fother%2Fhidden`,
    `${custom}/namespaces/other/widgets/hidden`,
    `${custom}/namespaces/../widgets?watch=0`,
    '/apis/example.com/v2/widgets',
    '/apis/EXAMPLE.com/v1/widgetsecrets',
  ]) {
    const { code, text } = await ask('GET', path)
    // A namespace with an unusual name has no widgets.
    assert.ok((code >= 400 && code < 500) || /"items":\[\]/.test(text), `${path}: ${code} ${text}`)
    assert.doesNotMatch(text, /foreign/, path)
  }
})
