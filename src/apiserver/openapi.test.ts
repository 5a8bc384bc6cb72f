import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultResources } from '#/api/builtin.ts'
import type { Resource } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import { OpenApi, type AggregatedSchemas } from './openapi.ts'
import type { OpenApiPart } from './openapi/extension-parts.ts'
import { Document } from './openapi/gnostic-messages.ts'
import {
  ask,
  bytesOf,
  cronTab,
  customResource,
  options,
  part,
  protobuf,
  struct,
  type Facts,
} from './openapi/test-documents.ts'

const pod = 'io.k8s.api.core.v1.Pod'
const pods = '/api/v1/namespaces/{namespace}/pods'

test('OpenAPI handles only its paths, and only reads', async () => {
  const check = (path: string): void => assert.equal(ask(path), undefined, path)
  check('/openapi')
  check('/openapi/v1')
  check('/openapi/v2/')
  check('/api')
  // Unknown documents have an answer without a body.
  for (const name of ['api/v1/', 'openid/v1/jwks', 'apis/nothing/v1', '__proto__'])
    assert.deepEqual(await ask(`/openapi/v3/${name}`), { status: 404 }, name)
  for (const path of ['/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1']) {
    await assert.rejects(ask(path, { method: 'POST' }) ?? Promise.resolve(), { code: 405 })
  }
})

test('enumerations are declared in both versions of OpenAPI, defaults only in v3', async () => {
  const check = async (type: string, field: string, expected: readonly [v2: object, v3: object]) => {
    const name = `io.k8s.api.core.v1.${type}`
    const documents = [
      ['/openapi/v2', 'definitions'],
      ['/openapi/v3/api/v1', 'components', 'schemas'],
    ] as const
    for (const [index, [url, ...keys]] of documents.entries()) {
      const schema = (await part(url, [...keys, name, 'properties', field])) as Facts
      const { description, ...rest } = schema
      const given = { ...rest, values: /\n\nPossible enum values:\n([^]*)/.exec(String(description))?.[1] }
      assert.deepEqual(given, { values: undefined, ...expected[index] }, `${url} ${type}.${field}`)
    }
  }
  const protocol = {
    type: 'string',
    enum: ['SCTP', 'TCP', 'UDP'],
    values: ' - `"SCTP"`\n - `"TCP"`\n - `"UDP"`',
  }
  await check('ContainerPort', 'protocol', [protocol, { ...protocol, default: 'TCP' }])
  await check('ContainerPort', 'containerPort', [
    { type: 'integer', format: 'int32' },
    { type: 'integer', format: 'int32', default: 0 },
  ])
  const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
  const items = { type: 'string', enum: modes }
  const list = { 'type': 'array', 'x-kubernetes-list-type': 'atomic' }
  await check('PersistentVolumeClaimSpec', 'accessModes', [
    { ...list, items },
    { ...list, items: { ...items, default: '' } },
  ])
  await check('Pod', 'spec', [
    { $ref: '#/definitions/io.k8s.api.core.v1.PodSpec' },
    { default: {}, allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }] },
  ])
})

test('the discovery of the issuer of service account tokens is documented if it is served', async () => {
  const from = new OpenApi(new Scheme(defaultResources()), { ...options, isIssuerServed: () => true })
  const path = '/openid/v1/jwks/'
  const operation = (await part('/openapi/v2', ['paths', path, 'get'], { from })) as Facts
  assert.deepEqual(operation['produces'], ['application/jwk-set+json'])
  const document = (await part('/openapi/v3/openid/v1/jwks', [], { from })) as Record<string, Facts>
  assert.deepEqual(Object.keys(document['paths'] ?? {}), [path])
  assert.deepEqual(Object.keys(document['components'] ?? {}), ['securitySchemes'])
  assert.equal(await part('/openapi/v2', ['paths', path]), undefined)
})

test('OpenAPI v2 is one document with shared parameters', async () => {
  const v2 = (...keys: readonly string[]): Promise<unknown> => part('/openapi/v2', keys)
  assert.equal(await v2('swagger'), '2.0')
  assert.equal(await v2('info', 'title'), 'Kubernetes')
  assert.deepEqual(await v2('paths', `${pods}/{name}`, 'get'), {
    'description': 'read the specified Pod',
    'consumes': ['*/*'],
    'produces': ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'],
    'schemes': ['https'],
    'tags': ['core_v1'],
    'operationId': 'readCoreV1NamespacedPod',
    'responses': {
      200: { description: 'OK', schema: { $ref: `#/definitions/${pod}` } },
      401: { description: 'Unauthorized' },
    },
    'x-kubernetes-action': 'get',
    'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'Pod' },
  })
  assert.deepEqual(await v2('paths', `${pods}/{name}`, 'parameters'), [
    {
      uniqueItems: true,
      type: 'string',
      description: 'name of the Pod',
      name: 'name',
      in: 'path',
      required: true,
    },
    { $ref: '#/parameters/namespace-vgWSWtn3' },
    { $ref: '#/parameters/pretty-tJGM1-ng' },
  ])
  assert.deepEqual(await v2('parameters', 'body-78PwaGsr'), {
    name: 'body',
    in: 'body',
    required: true,
    schema: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch' },
  })
  const status = 'io.k8s.api.core.v1.PodStatus'
  assert.deepEqual(Object.keys((await v2('definitions', pod, 'properties', 'status')) as object), [
    'description',
    '$ref',
  ])
  const conditions = (await v2('definitions', status, 'properties', 'conditions')) as Record<string, unknown>
  assert.deepEqual(
    { ...conditions, description: '' },
    {
      'description': '',
      'type': 'array',
      'items': { $ref: '#/definitions/io.k8s.api.core.v1.PodCondition' },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'type',
    },
  )
  assert.equal(await v2('definitions', 'io.k8s.api.storage.v1beta1.VolumeAttributesClass'), undefined)
})

test('operations have the ids and descriptions that client generators expect', async () => {
  const document = (await part('/openapi/v2', ['paths'])) as Record<string, Record<string, Facts>>
  const check = (path: string, method: string, id: string, description: string): void => {
    const operation = document[path]?.[method]
    assert.deepEqual([operation?.['operationId'], operation?.['description']], [id, description], path)
  }
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const endpoints = '/api/v1/namespaces/{namespace}/endpoints'
  check(
    `${rbac}/roles`,
    'get',
    'listRbacAuthorizationV1RoleForAllNamespaces',
    'list or watch objects of kind Role',
  )
  check(pods, 'delete', 'deleteCoreV1CollectionNamespacedPod', 'delete collection of Pod')
  check(endpoints, 'post', 'createCoreV1NamespacedEndpoints', 'create Endpoints')
  check(`${endpoints}/{name}`, 'delete', 'deleteCoreV1NamespacedEndpoints', 'delete Endpoints')
  check(
    '/apis/networking.k8s.io/v1/ipaddresses',
    'post',
    'createNetworkingV1IPAddress',
    'create an IPAddress',
  )
  check(
    '/api/v1/componentstatuses',
    'get',
    'listCoreV1ComponentStatus',
    'list objects of kind ComponentStatus',
  )
  check(`${pods}/{name}/eviction`, 'post', 'createCoreV1NamespacedPodEviction', 'create eviction of a Pod')
  check(`${pods}/{name}/log`, 'get', 'readCoreV1NamespacedPodLog', 'read log of the specified Pod')
  check(
    `${pods}/{name}/status`,
    'patch',
    'patchCoreV1NamespacedPodStatus',
    'partially update status of the specified Pod',
  )
  check(
    `${pods}/{name}/exec`,
    'get',
    'connectCoreV1GetNamespacedPodExec',
    'connect GET requests to exec of Pod',
  )
  check(
    '/api/v1/nodes/{name}/proxy/{path}',
    'options',
    'connectCoreV1OptionsNodeProxyWithPath',
    'connect OPTIONS requests to proxy of Node',
  )
  check('/apis/apps/', 'get', 'getAppsAPIGroup', 'get information of a group')
  check('/apis/apps/v1/', 'get', 'getAppsV1APIResources', 'get available resources')
  check('/version/', 'get', 'getCodeVersion', 'get the version information for this server')
  assert.equal(document['/api/v1/bindings'], undefined)
  assert.equal(document[`${pods}/{name}/exec`]?.['head'], undefined)
  const names = Object.values(document)
    .flatMap(path => Object.values(path))
    .map(operation => operation['operationId'])
    .filter(name => name !== undefined)
  assert.equal(new Set(names).size, names.length, 'every operation has a name of its own')
})

test('every OpenAPI reference resolves', async () => {
  const v3 = (await part('/openapi/v3', ['paths'])) as Record<string, { serverRelativeURL: string }>
  const urls = ['/openapi/v2', ...Object.values(v3).map(each => each.serverRelativeURL)]
  for (const url of urls) {
    const text = (await bytesOf(url)).toString()
    const targets = new Set([...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, target]) => target ?? ''))
    const document = JSON.parse(text) as unknown
    for (const target of targets) {
      let value = document
      for (const key of target.split('/')) value = (value as Record<string, unknown> | undefined)?.[key]
      assert.ok(value !== undefined, `${url}: ${target}`)
    }
  }
})

test('OpenAPI v3 has one document per group version', async () => {
  const paths = (await part('/openapi/v3', ['paths'])) as Record<string, { serverRelativeURL: string }>
  for (const name of ['api', 'api/v1', 'apis', 'apis/apps', 'apis/apps/v1', 'version']) {
    const url = new RegExp(`^/openapi/v3/${name}\\?hash=[0-9A-F]{128}$`)
    assert.match(String(paths[name]?.serverRelativeURL), url)
  }
  const v3 = (...keys: readonly string[]): Promise<unknown> => part('/openapi/v3/apis/apps/v1', keys)
  assert.equal(await v3('openapi'), '3.0.0')
  const scale = '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'
  assert.deepEqual(await v3('paths', scale, 'put', 'requestBody'), {
    content: { '*/*': { schema: { $ref: '#/components/schemas/io.k8s.api.autoscaling.v1.Scale' } } },
    required: true,
  })
  assert.deepEqual(await v3('paths', scale, 'parameters', '0'), {
    name: 'name',
    in: 'path',
    description: 'name of the Scale',
    required: true,
    schema: { type: 'string', uniqueItems: true },
  })
  const spec = await v3('components', 'schemas', 'io.k8s.api.apps.v1.Deployment', 'properties', 'spec')
  assert.deepEqual((spec as Record<string, unknown>)['allOf'], [
    { $ref: '#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec' },
  ])
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'
  assert.deepEqual(
    await v3('components', 'schemas', meta, 'x-kubernetes-group-version-kind'),
    ['', 'apps'].map(group => ({ group, version: 'v1', kind: 'DeleteOptions' })),
  )
  assert.deepEqual(Object.keys((await part('/openapi/v3/apis/apps', ['paths'])) as object), ['/apis/apps/'])
})

test('an OpenAPI v3 URL with a hash is immutable', async () => {
  const paths = (await part('/openapi/v3', ['paths'])) as Record<string, { serverRelativeURL: string }>
  const url = String(paths['apis/policy/v1']?.serverRelativeURL)
  const response = await ask(url)
  assert.equal(response?.headers?.['etag'], `"${url.split('=')[1]}"`)
  assert.equal(response?.headers?.['cache-control'], 'public, immutable')
  assert.equal(response?.headers?.['expires'], 'Fri, 01 Jan 2027 00:00:00 GMT')
  const plain = await ask('/openapi/v3/apis/policy/v1')
  assert.deepEqual({ ...plain?.headers }, { etag: response?.headers?.['etag'], vary: 'Accept' })
  const old = await ask('/openapi/v3/apis/policy/v1?hash=OLD')
  assert.deepEqual([old?.status, old?.headers?.['location']], [301, url])
  const headers = { 'if-none-match': response.headers['etag'] }
  assert.equal((await ask(url, { headers }))?.status, 304)
})

test('OpenAPI negotiates the media type', async () => {
  const check = async (path: string, accept: string, expected: string | number): Promise<void> => {
    const answer = ask(path, { headers: { accept } })
    assert.ok(answer)
    if (typeof expected === 'number') await assert.rejects(answer, { code: expected })
    else assert.equal((await answer).body?.mediaType, expected, accept)
  }
  const asked = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
  const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
  await check('/openapi/v2', '', 'application/json')
  await check('/openapi/v2', '*/*', 'application/json')
  await check('/openapi/v2', 'application/*;q=0.5', 'application/json')
  await check('/openapi/v2', asked, protobuf)
  await check('/openapi/v2', protobuf, protobuf)
  await check('/openapi/v2', `${asked};q=0.2,application/json`, 'application/json')
  assert.deepEqual(await ask('/openapi/v2', { headers: { accept: 'text/html' } }), { status: 406 })
  await check('/openapi/v3/api/v1', 'application/json', 'application/json')
  await check('/openapi/v3/api/v1', 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf', 406)
})

test('OpenAPI protobuf equals the JSON document', async () => {
  const headers = { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' }
  const document = Document.decode(await bytesOf('/openapi/v2', { headers }))
  const { paths, definitions, parameters, security } = document
  const json = (await part('/openapi/v2', [])) as Record<string, object>
  const names = (members: unknown): readonly unknown[] =>
    (members as readonly { readonly name: unknown }[]).map(({ name }) => name)
  assert.deepEqual(names(paths?.path), Object.keys(json['paths'] ?? {}))
  assert.deepEqual(names(definitions?.additionalProperties), Object.keys(json['definitions'] ?? {}))
  assert.deepEqual(names(parameters?.additionalProperties), Object.keys(json['parameters'] ?? {}))
  assert.equal(security[0]?.additionalProperties[0]?.name, 'BearerToken')
  const item = paths?.path.find(({ name }) => name === `${pods}/{name}`)?.value
  assert.deepEqual(
    item?.get?.vendorExtension.map(({ name, value }) => [name, value?.yaml]),
    [
      ['x-kubernetes-action', 'get\n'],
      ['x-kubernetes-group-version-kind', 'group: ""\nkind: Pod\nversion: v1\n'],
    ],
  )
  const taken = item?.parameters.map(
    ({ reference, parameter }) => reference?.ref ?? parameter?.nonBodyParameter?.path?.name,
  )
  assert.deepEqual(taken, ['name', '#/parameters/namespace-vgWSWtn3', '#/parameters/pretty-tJGM1-ng'])
})

test('a scheme change rebuilds only the affected documents', async () => {
  const scheme = new Scheme(defaultResources())
  let turns = 0
  const clock = { turn: () => Promise.resolve(void turns++) }
  const from = new OpenApi(scheme, { ...options, clock })
  const tag = async (path: string): Promise<unknown> => (await ask(path, { from }))?.headers?.['etag']
  const tags = (): Promise<readonly unknown[]> =>
    Promise.all([tag('/openapi/v2'), tag('/openapi/v3'), tag('/openapi/v3/apis/apps/v1')])
  const before = await tags()
  const turnsOfAll = turns
  assert.deepEqual(await tags(), before)
  assert.equal(turns, turnsOfAll)
  scheme.register(customResource(struct({ size: { type: 'integer' } })))
  const [v2, v3, apps] = await tags()
  assert.ok(v2 !== before[0] && v3 !== before[1] && apps === before[2])
  assert.equal(turns, turnsOfAll + 2, 'the new version in both OpenAPI versions')
  scheme.unregister({ group: 'stable.example.com', version: 'v1', resource: 'crontabs' })
  assert.deepEqual(await tags(), before)
  assert.deepEqual(await ask('/openapi/v3/apis/stable.example.com/v1', { from }), { status: 404 })
})

test('each encoding of OpenAPI v2 has its own ETag', async () => {
  const tagOf = async (accept: string): Promise<unknown> => {
    const response = await ask('/openapi/v2', { headers: { accept } })
    assert.match(String(response?.headers?.['etag']), /^"[0-9A-F]{128}"$/)
    return response?.headers?.['etag']
  }
  const [json, encoded] = [await tagOf('application/json'), await tagOf(protobuf)]
  assert.notEqual(json, encoded)
  for (const [accept, tag] of [
    ['application/json', json],
    [protobuf, encoded],
  ] as const) {
    const headers = { accept, 'if-none-match': String(tag) }
    assert.equal((await ask('/openapi/v2', { headers }))?.status, 304)
  }
})

test('documents after changes are those of a server that started with the same resources', async () => {
  const scheme = new Scheme(defaultResources())
  const changed = new OpenApi(scheme, options)
  const check = async (...custom: readonly Resource[]): Promise<void> => {
    const fresh = new OpenApi(new Scheme([...defaultResources(), ...custom]), options)
    for (const [url, accept] of [
      ['/openapi/v2', 'application/json'],
      ['/openapi/v2', protobuf],
      ['/openapi/v3', 'application/json'],
    ] as const) {
      const read = async (from: OpenApi): Promise<readonly unknown[]> => {
        const headers = { accept }
        const tag = (await ask(url, { from, headers }))?.headers?.['etag']
        return [tag, (await bytesOf(url, { from, headers })).toString('latin1')]
      }
      const [[tag, bytes], [freshTag, freshBytes]] = [await read(changed), await read(fresh)]
      assert.ok(bytes === freshBytes, `${url} as ${accept}`)
      assert.equal(tag, freshTag)
    }
  }
  await check()
  const one = customResource(struct({ size: { type: 'integer' } }))
  const two = { ...customResource(struct({}), 'tabs'), kind: 'Tab', listKind: 'TabList' }
  // Its definitions are between those of the other group, and its paths are not.
  const home = { group: 'a.v1.stable.example.com', version: 'v1' }
  const three = {
    ...customResource(struct({})),
    ...home,
    storage: home,
    kind: 'between',
    listKind: 'betweenList',
  }
  scheme.register(one)
  await check(one)
  scheme.register(two, three)
  await check(one, two, three)
  scheme.unregister({ group: one.group, version: one.version, resource: one.plural })
  await check(two, three)
})

test('schemas of extension servers fit the rest of the document, whichever changes', async () => {
  const scheme = new Scheme(defaultResources())
  let aggregated: AggregatedSchemas = { version3: new Map(), version2: [] }
  const from = new OpenApi(scheme, { ...options, aggregatedSchemas: () => aggregated })
  const partOf = (group: string, type: string): OpenApiPart => {
    const schema = { $ref: `#/definitions/${cronTab}` }
    const paths = { [`/apis/${group}/v1/things`]: { get: { responses: { 200: { schema } } } } }
    return { paths, definitions: { [cronTab]: { type } }, parameters: {} }
  }
  /** The definitions to which the paths of the extension servers refer, with their types. */
  const check = async (parts: readonly OpenApiPart[], expected: string): Promise<void> => {
    aggregated = { version3: new Map(), version2: parts }
    const { paths, definitions } = (await part('/openapi/v2', [], { from })) as Record<string, Facts>
    const found = parts.map(each => {
      const path = JSON.stringify(paths?.[Object.keys(each.paths)[0] ?? ''])
      const name = /#\/definitions\/([^"]+)/.exec(path)?.[1] ?? ''
      return `${name.split('.').at(-1)} ${String((definitions?.[name] as Facts | undefined)?.['type'])}`
    })
    assert.equal(found.join(', '), expected)
    const headers = { accept: protobuf }
    const { definitions: encoded } = Document.decode(await bytesOf('/openapi/v2', { from, headers }))
    const names = encoded?.additionalProperties.map(({ name }) => name)
    assert.deepEqual(names, Object.keys(definitions ?? {}))
  }
  const [a, b] = [partOf('a.example', 'number'), partOf('b.example', 'string')]
  await check([b], 'CronTab string')
  scheme.register(customResource(struct({ size: { type: 'integer' } })))
  await check([b], 'CronTab_v2 string')
  await check([a, b], 'CronTab_v2 number, CronTab_v3 string')
  await check([b, a], 'CronTab_v3 string, CronTab_v2 number')
  await check([a], 'CronTab_v2 number')
  scheme.unregister({ group: 'stable.example.com', version: 'v1', resource: 'crontabs' })
  await check([a], 'CronTab number')
})
