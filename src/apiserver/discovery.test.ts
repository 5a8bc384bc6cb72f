import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources, defaultResources } from '#/api/builtin.ts'
import { decodeProtobuf } from '#/api/protobuf.ts'
import type { Resource } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import { Discovery } from './discovery.ts'
import type { ApiResponse } from './request.ts'
import { testRequest, type TestRequestOptions } from './test-request.ts'

const options = {
  build: { version: '0.1.0' },
  serverAddress: '10.0.0.1:6443',
  paths: () => ['/healthz', '/metrics'],
}
const discovery = new Discovery(new Scheme(defaultResources()), options)

const custom: Resource = {
  group: 'stable.example.com',
  version: 'v1',
  kind: 'CronTab',
  listKind: 'CronTabList',
  plural: 'crontabs',
  singular: 'crontab',
  scope: 'Namespaced',
  shortNames: ['ct'],
  categories: ['all'],
  verbs: ['get', 'list', 'watch'],
  schema: { type: 'struct', name: '', fields: new Map(), atomic: false, preserveUnknownFields: true },
  subresources: new Map([
    ['scale', { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: ['get'] }],
    [
      'status',
      {
        name: 'status',
        group: 'stable.example.com',
        version: 'v1',
        kind: 'CronTab',
        verbs: ['get'],
      },
    ],
  ]),
  storage: { group: 'stable.example.com', version: 'v1' },
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const aggregatedBeta = aggregated.replace('v=v2', 'v=v2beta1')

interface Asked extends TestRequestOptions {
  readonly from?: Discovery
}

function ask(path: string, { from = discovery, ...options }: Asked = {}): ApiResponse | undefined {
  return from.handle(testRequest(path, options))
}

function bytesOf(response: ApiResponse | undefined): Buffer {
  assert.ok(response?.body?.type === 'value')
  return Buffer.concat(response.body.bytes())
}

function read(path: string, asked: Asked = {}): Record<string, unknown> {
  return JSON.parse(bytesOf(ask(path, asked)).toString()) as Record<string, unknown>
}

test('API groups and versions are served in legacy and current formats', () => {
  const check = (path: string, expected: object): void => assert.deepEqual(read(path), expected, path)
  check('/api', {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:6443' }],
  })
  const version = (version: string): object => ({ groupVersion: `autoscaling/${version}`, version })
  const autoscaling = {
    name: 'autoscaling',
    versions: [version('v2'), version('v1')],
    preferredVersion: version('v2'),
  }
  check('/apis/autoscaling', { kind: 'APIGroup', apiVersion: 'v1', ...autoscaling })
  check('/apis/autoscaling/', { kind: 'APIGroup', apiVersion: 'v1', ...autoscaling })
  const { groups, ...list } = read('/apis')
  assert.deepEqual(list, { kind: 'APIGroupList', apiVersion: 'v1' })
  assert.ok(Array.isArray(groups))
  assert.deepEqual(
    groups.find(each => each.name === 'autoscaling'),
    autoscaling,
  )
  assert.deepEqual(
    groups.slice(0, 3).map(each => each.name),
    ['apiregistration.k8s.io', 'apps', 'events.k8s.io'],
  )
})

test('APIResourceList contains all fields that kubectl reads', () => {
  const { resources, ...list } = read('/api/v1')
  assert.deepEqual(list, { kind: 'APIResourceList', groupVersion: 'v1' })
  const check = (name: string, expected: object): void => {
    assert.ok(Array.isArray(resources))
    assert.deepEqual(
      resources.find(each => each.name === name),
      { name, ...expected },
    )
  }
  const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
  check('pods', {
    singularName: 'pod',
    namespaced: true,
    kind: 'Pod',
    verbs: all,
    shortNames: ['po'],
    categories: ['all'],
    storageVersionHash: 'xPOwRZ+Yhw8=',
  })
  const { resources: definitions } = read('/apis/apiextensions.k8s.io/v1')
  assert.ok(Array.isArray(definitions))
  // The hash of Kubernetes, which stores them as v1beta1.
  assert.equal(definitions[0].storageVersionHash, 'jfWCUB31mvA=')
  check('bindings', { singularName: 'binding', namespaced: true, kind: 'Binding', verbs: ['create'] })
  check('pods/log', { singularName: '', namespaced: true, kind: 'Pod', verbs: ['get'] })
  check('pods/eviction', {
    singularName: '',
    namespaced: true,
    group: 'policy',
    version: 'v1',
    kind: 'Eviction',
    verbs: ['create'],
  })
  assert.equal(read('/apis/apps/v1')['apiVersion'], 'v1')
})

test('aggregated discovery is served on request', () => {
  const check = (accept: string | undefined, path: string, expected: string): void => {
    const response = ask(path, accept === undefined ? {} : { headers: { accept } })
    const { kind, apiVersion } = JSON.parse(bytesOf(response).toString()) as Record<string, string>
    const [mediaType] = response?.body?.mediaType.split(';as=') ?? []
    assert.equal(`${mediaType} ${apiVersion} ${kind}`, expected, accept ?? 'nothing')
  }
  const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2 apidiscovery.k8s.io/v2 APIGroupDiscoveryList'
  const plain = 'application/json v1 APIGroupList'
  check(aggregated, '/apis', v2)
  check(aggregated, '/api', v2)
  check(`${aggregated};profile=nopeer`, '/apis', v2)
  assert.throws(() => ask('/apis', { headers: { accept: aggregatedBeta } }), { reason: 'NotAcceptable' })
  check(`${aggregated},${aggregatedBeta},application/json`, '/apis', v2)
  check(`${aggregated};q=0.1,application/json`, '/apis', plain)
  check(`${aggregated.replace('v=v2', 'v=v3')},application/json`, '/apis', plain)
  check(`application/json,${aggregated}`, '/apis', plain)
  check('*/*', '/apis', plain)
  check(undefined, '/apis', plain)
  check('application/json', '/apis/apps', 'application/json v1 APIGroup')
})

test('aggregated discovery of the core group is served at /api', () => {
  const groups = (path: string): readonly { metadata: { name?: string }; versions: readonly object[] }[] =>
    read(path, { headers: { accept: aggregated } })['items'] as never
  assert.deepEqual(
    groups('/api').map(each => each.metadata),
    [{}],
  )
  assert.ok(!groups('/apis').some(each => each.metadata.name === undefined))
  const scheme = new Scheme([custom])
  const from = new Discovery(scheme, options)
  assert.deepEqual(read('/apis', { headers: { accept: aggregated }, from })['items'], [
    {
      metadata: { name: 'stable.example.com' },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'crontabs',
              responseKind: { group: 'stable.example.com', version: 'v1', kind: 'CronTab' },
              scope: 'Namespaced',
              singularResource: 'crontab',
              verbs: ['get', 'list', 'watch'],
              shortNames: ['ct'],
              categories: ['all'],
              subresources: [
                {
                  subresource: 'scale',
                  responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
                  verbs: ['get'],
                },
                {
                  subresource: 'status',
                  responseKind: { group: 'stable.example.com', version: 'v1', kind: 'CronTab' },
                  verbs: ['get'],
                },
              ],
            },
          ],
        },
      ],
    },
  ])
})

test('a discovery request with a matching ETag gets 304', () => {
  const asked = [
    ['/apis', aggregated],
    ['/api/v1', 'application/json'],
    ['/version', '*/*'],
  ] as const
  for (const [path, accept] of asked) {
    const tag = String(ask(path, { headers: { accept } })?.headers?.['etag'])
    assert.match(tag, /^"[0-9A-F]{128}"$/)
    const check = (known: string, status: number): void => {
      const response = ask(path, { headers: { accept, 'if-none-match': known } })
      assert.deepEqual([response?.status, response?.body !== undefined], [status, status === 200], known)
    }
    check(tag, 304)
    check(`W/${tag}`, 304)
    check(`"other", ${tag}`, 304)
    check('*', 304)
    check('"other"', 200)
    check('', 200)
  }
})

test('added and removed resources change discovery immediately', () => {
  const scheme = new Scheme(defaultResources())
  const from = new Discovery(scheme, options)
  const check = (status: number | undefined): void => {
    assert.equal(ask('/apis/stable.example.com/v1', { from })?.status, status)
    assert.equal(ask('/apis/stable.example.com', { from })?.status, status)
    const isListed = (path: string, headers = {}): boolean =>
      bytesOf(ask(path, { from, headers })).includes('stable.example.com')
    assert.deepEqual(
      [isListed('/apis'), isListed('/apis', { accept: aggregated }), isListed('/')],
      Array(3).fill(status !== undefined),
    )
  }
  check(undefined)
  scheme.register(custom)
  check(200)
  scheme.unregister({ group: custom.group, version: 'v1', resource: 'crontabs' })
  check(undefined)
})

test('aggregated discovery after changes is that of a server that started with the same resources', () => {
  const scheme = new Scheme(defaultResources())
  const changed = new Discovery(scheme, options)
  const read = (from: Discovery): readonly unknown[] => {
    const response = ask('/apis', { from, headers: { accept: aggregated } })
    return [response?.headers?.['etag'], bytesOf(response).toString()]
  }
  const check = (...resources: readonly Resource[]): unknown => {
    const [tag, text] = read(changed)
    assert.deepEqual(
      [tag, text],
      read(new Discovery(new Scheme([...defaultResources(), ...resources]), options)),
    )
    return tag
  }
  const tags = [check()]
  scheme.register(custom)
  tags.push(check(custom))
  const renamed = { ...custom, shortNames: ['tab'] }
  scheme.register(renamed)
  tags.push(check(renamed))
  scheme.unregister({ group: custom.group, version: 'v1', resource: 'crontabs' })
  assert.equal(check(), tags[0])
  assert.equal(new Set(tags).size, 3)
})

test('discovery is served as JSON, YAML and protobuf', () => {
  const yaml = ask('/apis/policy', { headers: { accept: 'application/yaml' } })
  assert.equal(yaml?.body?.mediaType, 'application/yaml')
  assert.match(bytesOf(yaml).toString(), /^apiVersion: v1\nkind: APIGroup\n/)
  const headers = { accept: 'application/vnd.kubernetes.protobuf' }
  for (const path of ['/api', '/apis', '/api/v1', '/apis/apps', '/apis/apps/v1']) {
    const bytes = bytesOf(ask(path, { headers }))
    const { kind, apiVersion } = read(path) as Record<string, string>
    const expected = { group: '', version: 'v1', kind: kind ?? '' }
    assert.equal(decodeProtobuf(bytes, expected)['kind'], kind)
    // Those without a version have none in the envelope either.
    if (apiVersion === undefined) assert.throws(() => decodeProtobuf(bytes), /'apiVersion' is missing/)
  }
  assert.throws(() => ask('/apis', { headers: { accept: 'text/html' } }), { name: 'ApiError', code: 406 })
})

test('discovery handles only its paths, and only reads', () => {
  const check = (path: string): void => assert.equal(ask(path), undefined, path)
  check('/apis/nothing')
  check('/apis/apps/v9')
  check('/api/v9')
  check('/apis/apps/v1/deployments')
  check('/healthz')
  check('/openapi/v2')
  check('/versions')
  check('/apis//')
  check('/apis/__proto__')
  check('/apis/constructor/v1')
  assert.equal(ask('/apis', { method: 'POST' })?.status, 200)
  assert.throws(() => ask('/api', { method: 'POST' }), /does not allow this method/)
  assert.throws(() => ask('/version', { method: 'DELETE' }), /does not allow this method/)
  assert.throws(() => ask('/version', { method: 'HEAD' }), /does not allow this method/)
  assert.equal(ask('/apis/apps', { method: 'HEAD' })?.status, 200)
})

test('/version contains the Kubernetes and k8ts versions', () => {
  const { major, minor, gitVersion, gitTreeState, platform } = read('/version')
  assert.deepEqual(
    { major, minor, gitTreeState, platform },
    { major: '1', minor: '36', gitTreeState: '', platform: 'linux/amd64' },
  )
  assert.match(String(gitVersion), /^v1\.36\.\d+\+k8ts\.0\.1\.0$/)
  const date = '2026-01-02T03:04:05Z'
  const build = { version: '1.0.0', commit: 'abc', date, runtime: 'node26', platform: 'linux/arm64' }
  const from = new Discovery(new Scheme(), { ...options, build })
  const { gitCommit, buildDate, goVersion, ...rest } = read('/version', { from })
  assert.deepEqual(
    [gitCommit, buildDate, goVersion, rest['gitTreeState'], rest['platform']],
    ['abc', date, 'node26', 'clean', 'linux/arm64'],
  )
})

test('the root path lists all paths', () => {
  const paths = read('/')['paths'] as readonly string[]
  const check = (path: string): void => assert.equal(paths.filter(each => each === path).length, 1, path)
  for (const path of ['/api', '/api/v1', '/apis', '/apis/', '/apis/apps', '/apis/apps/v1']) check(path)
  for (const path of ['/healthz', '/metrics', '/openapi/v2', '/openapi/v3', '/version']) check(path)
  assert.deepEqual(paths, [...paths].sort())
})

test('discovery does not depend on registration order', () => {
  const resources = builtinResources()
  const forwards = new Discovery(new Scheme(resources), options)
  const backwards = new Discovery(new Scheme([...resources].reverse()), options)
  for (const path of ['/apis', '/api/v1', '/']) {
    assert.equal(bytesOf(ask(path, { from: forwards })).compare(bytesOf(ask(path, { from: backwards }))), 0)
  }
})
