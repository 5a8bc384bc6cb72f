import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { UserInfo } from '../../request.ts'
import { part, startTestServer, type Answer, type WatchEvent } from '../../test-server.ts'
import { initializers } from './initializers.ts'
import type { PluginFactory } from '../plugin-context.ts'
import { resourceQuota } from './resource-quota.ts'
import {
  configMap,
  container,
  outcome,
  pod,
  pods,
  startWith,
  type PluginServer,
} from '../testdata/plugin-server.ts'

const configurations = '/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations'
const maps = '/api/v1/namespaces/default/configmaps'
const merge = { 'content-type': 'application/merge-patch+json' }
const unhidden = 'includeUninitialized=true'

/** An InitializerConfiguration; each line is one initializer, e.g. `a.example.com: pods configmaps`. */
function configuration(name: string, ...lines: readonly string[]): object {
  return {
    kind: 'InitializerConfiguration',
    apiVersion: 'admissionregistration.k8s.io/v1alpha1',
    metadata: { name },
    initializers: lines.map(line => {
      const [initializer, resources = ''] = line.split(': ')
      const rule = { apiGroups: ['*'], apiVersions: ['*'], resources: resources.split(' ') }
      return { name: initializer, rules: [rule] }
    }),
  }
}

function pendingOf({ body }: Pick<Answer, 'body'>): readonly string[] | undefined {
  const { pending } = (body['metadata']['initializers'] ?? {}) as { pending?: readonly { name: string }[] }
  return pending?.map(({ name }) => name)
}

function pending(...names: readonly string[]): object {
  return { metadata: { initializers: { pending: names.map(name => ({ name })) } } }
}

const failed = (fields: object = {}): object => ({
  metadata: {
    initializers: { pending: [{ name: 'a.example.com' }], result: { status: 'Failure', ...fields } },
  },
})

/** A server where `a.example.com` initializes pods and config maps. */
async function startOne(t: Parameters<typeof startWith>[0]): Promise<PluginServer> {
  const server = await startWith(t, initializers, { platform: quiet() })
  await server.given(configurations, configuration('one', 'a.example.com: pods configmaps'))
  return server
}

/** Silences the log of requests that fail on purpose. */
function quiet(): Platform {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  return { ...platform, log: { ...platform.log, error: () => undefined } }
}

/** Starts a create request and returns once the uninitialized object exists. */
async function begin(
  server: Pick<PluginServer, 'request' | 'watch'>,
  url: string,
  object: object,
): Promise<{ readonly answer: Promise<Answer> }> {
  const answer = server.request('POST', url, object)
  await server.watch(`${url}?watch=1&${unhidden}`, 1)
  return { answer }
}

function show({ type, object }: WatchEvent): string {
  return `${type} ${String(object.metadata['name'])} ${pendingOf({ body: object })?.join(' ') ?? 'done'}`
}

test('Initializers: new objects get the pending initializers of their resource, in configuration order', async t => {
  const { given, request } = await startWith(t, initializers)
  await given(configurations, configuration('z', 'd.example.com: *'))
  await given(`${configurations}?${unhidden}`, {
    ...configuration('a', 'b.example.com: pods', 'a.example.com: configmaps pods', 'd.example.com: pods'),
    metadata: { name: 'a', initializers: {} },
  })
  const check = async (url: string, object: object, expected: readonly string[] | undefined) => {
    const answer = await request('POST', `${url}?${unhidden}`, object)
    assert.deepEqual([answer.code, pendingOf(answer)], [201, expected], answer.text)
  }
  await check(pods, pod('p'), ['b.example.com', 'a.example.com', 'd.example.com'])
  await check(maps, configMap('m'), ['a.example.com', 'd.example.com'])
  await check(
    '/apis/apps/v1/namespaces/default/controllerrevisions',
    { metadata: { name: 'r' }, revision: 1, data: {} },
    ['d.example.com'],
  )
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
  await check(pods, pod('static', { nodeName: 'n' }, mirror), undefined)
  const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } }
  const reviewed = await request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)
  assert.deepEqual([reviewed.code, pendingOf(reviewed)], [201, undefined])
})

test('Initializers: uninitialized objects are hidden unless includeUninitialized is set', async t => {
  const server = await startOne(t)
  const { request, watch } = server
  await request('POST', `${maps}?${unhidden}`, configMap('m'))
  const count = async (url: string): Promise<number> =>
    ((await request('GET', url)).body['items'] as never as readonly unknown[]).length
  const check = async (isSeen: boolean) => {
    assert.equal((await request('GET', `${maps}/m`)).code, isSeen ? 200 : 404)
    assert.equal((await request('GET', `${maps}/m?${unhidden}`)).code, 200)
    for (const query of ['', 'limit=1', 'fieldSelector=metadata.name=m', 'resourceVersion=0']) {
      assert.equal(await count(`${maps}?${query}`), isSeen ? 1 : 0, query)
      assert.equal(await count(`${maps}?${query}&${unhidden}`), 1, query)
    }
  }
  await check(false)
  const { resourceVersion: start } = (await request('GET', `${maps}?${unhidden}`)).body.metadata
  assert.equal((await request('PATCH', `${maps}/m`, { data: { a: '1' } }, merge)).code, 200)
  assert.equal((await request('PATCH', `${maps}/m`, pending(), merge)).code, 200)
  await check(true)
  await request('PATCH', `${maps}/m`, { data: { a: '2' } }, merge)
  const from = `${maps}?watch=1&resourceVersion=${String(start)}`
  assert.deepEqual((await watch(from, 2)).map(show), ['ADDED m done', 'MODIFIED m done'])
  assert.deepEqual((await watch(`${from}&${unhidden}`, 3)).map(show), [
    'MODIFIED m a.example.com',
    'MODIFIED m done',
    'MODIFIED m done',
  ])
  const earlier = `resourceVersion=${String(start)}&resourceVersionMatch=Exact`
  assert.deepEqual([await count(`${maps}?${earlier}`), await count(`${maps}?${earlier}&${unhidden}`)], [0, 1])
})

test('Initializers: a restarted server still hides uninitialized objects', async t => {
  const platform = quiet()
  const store = await MemoryStore.open({ platform })
  const start = () => startTestServer(t, platform, { store, admission: context => [initializers(context)] })
  const first = await start()
  await first.request('POST', configurations, configuration('one', 'a.example.com: configmaps'))
  await first.request('GET', configurations)
  const created = await first.request('POST', `${maps}?${unhidden}`, configMap('m'))
  const { resourceVersion } = created.body.metadata
  await first.request('PATCH', `${maps}/m`, { data: { a: '1' } }, merge)
  await first.request('PATCH', `${maps}/m`, pending(), merge)
  await first.request('POST', `${maps}?${unhidden}`, configMap('n'))
  const { request, watch } = await start()
  const codes = [`${maps}/m`, `${maps}/n`, `${maps}/n?${unhidden}`].map(url => request('GET', url))
  assert.deepEqual(
    (await Promise.all(codes)).map(({ code }) => code),
    [200, 404, 200],
  )
  const from = `${maps}?watch=1&resourceVersion=${String(resourceVersion)}`
  assert.deepEqual((await watch(from, 1)).map(show), ['ADDED m done'])
  assert.deepEqual((await watch(`${from}&${unhidden}`, 3)).map(show), [
    'MODIFIED m a.example.com',
    'MODIFIED m done',
    'ADDED n a.example.com',
  ])
})

test('Initializers: a create request completes after the last initializer', async t => {
  const server = await startOne(t)
  await server.given(configurations, configuration('two', 'b.example.com: pods'))
  const { answer } = await begin(server, pods, pod('p'))
  let isAnswered = false
  void answer.then(() => (isAnswered = true))
  await server.request('PATCH', `${pods}/p`, { spec: { activeDeadlineSeconds: 5 } }, merge)
  await server.request('PATCH', `${pods}/p`, pending('b.example.com'), merge)
  await server.request('GET', pods)
  assert.equal(isAnswered, false)
  const completed = await server.request('PATCH', `${pods}/p`, pending(), merge)
  const { code, body } = await answer
  assert.deepEqual([code, body], [201, completed.body])
  assert.equal('initializers' in body['metadata'], false)
  assert.equal(part(body, 'spec')['activeDeadlineSeconds'], 5)
  const applied = server.request('PATCH', `${maps}/m?fieldManager=x`, configMap('m'), {
    'content-type': 'application/apply-patch+yaml',
  })
  await server.watch(`${maps}?watch=1&${unhidden}`, 1)
  await server.request('PATCH', `${maps}/m`, { metadata: { initializers: null } }, merge)
  assert.deepEqual([(await applied).code, pendingOf(await applied)], [201, undefined])
})

test('Initializers: a failed initializer deletes the object, and its result is the response', async t => {
  const server = await startOne(t)
  const finalizers = { finalizers: ['example.com/hold'] }
  const { answer } = await begin(server, pods, pod('p', {}, finalizers))
  assert.equal(
    await server.patch(`${pods}/p`, {
      metadata: { initializers: { pending: [{ name: 'a.example.com' }], result: { status: 'Success' } } },
    }),
    '422 Pod "p" is invalid: metadata.initializers.result.status: Invalid value: "Success": must be \'Failure\'',
  )
  const result = { message: 'no sidecar fits', reason: 'Forbidden', code: 403 }
  assert.equal(await server.patch(`${pods}/p`, failed(result)), 'ok')
  assert.equal(outcome(await answer), '403 no sidecar fits')
  assert.equal((await server.request('GET', `${pods}/p?${unhidden}`)).code, 404)
  const second = await begin(server, pods, pod('q'))
  assert.equal(await server.patch(`${pods}/q`, failed()), 'ok')
  assert.equal((await second.answer).code, 500)
})

test('Initializers: an uninitialized object can be deleted, also with its collection', async t => {
  const server = await startOne(t)
  const first = await begin(server, pods, pod('p'))
  assert.equal((await server.request('DELETE', `${pods}/p`)).code, 200)
  const gone = '500 Internal error occurred: object deleted while waiting for creation'
  assert.equal(outcome(await first.answer), gone)
  const second = await begin(server, maps, configMap('m'))
  assert.equal((await server.request('DELETE', maps)).code, 200)
  assert.equal(outcome(await second.answer), gone)
})

test('Initializers: a create request times out after thirty seconds', async t => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('server')
  const server = await simulation.run(
    startTestServer(t, platform, { admission: context => [initializers(context)] }),
  )
  const { request } = server
  await simulation.run(request('POST', configurations, configuration('one', 'a.example.com: pods')))
  await simulation.run(request('GET', configurations))
  const startMs = simulation.nowMs
  const answer = await simulation.run(request('POST', pods, pod('p')))
  assert.equal(outcome(answer), '504 Timeout: server has timed out waiting for the initialization of pods p')
  assert.equal(Math.round((simulation.nowMs - startMs) / 1_000), 30)
  // The pod still exists and can still be initialized.
  await simulation.run(request('PATCH', `${pods}/p`, pending(), merge))
  assert.equal((await simulation.run(request('GET', `${pods}/p`))).code, 200)
})

test('Initializers: only the first pending initializer can be removed', async t => {
  const { given, request, patch } = await startWith(t, initializers)
  await given(configurations, configuration('x', 'a.x.y: *', 'b.x.y: *', 'c.x.y: *'))
  await request('POST', `${maps}?${unhidden}`, { ...configMap('m') })
  const refusal = (names: string): string =>
    '422 ConfigMap "m" is invalid: metadata.initializers.pending: Invalid value: ' +
    `[${names
      .split(' ')
      .map(name => `{"name":"${name}"}`)
      .join(',')}]: only the first pending initializer may be removed`
  const check = async (names: string, expected = 'ok') => {
    assert.equal(await patch(`${maps}/m`, pending(...names.split(' '))), expected, names)
  }
  for (const names of ['a.x.y b.x.y', 'a.x.y c.x.y', 'c.x.y', 'b.x.y', 'c.x.y b.x.y', 'a.x.y c.x.y b.x.y'])
    await check(names, refusal(names))
  await check(
    'a.x.y b.x.y c.x.y x',
    '422 ConfigMap "m" is invalid: metadata.initializers.pending[3].name: Invalid value: "x": ' +
      'should be a domain with at least three segments separated by dots',
  )
  await check('a.x.y b.x.y c.x.y')
  await check('b.x.y new.x.y c.x.y')
  await check('new.x.y c.x.y')
  await check('c.x.y')
  assert.equal(await patch(`${maps}/m`, { metadata: { initializers: null } }), 'ok')
  assert.equal(await patch(`${maps}/m`, { metadata: { initializers: { pending: [] } } }), 'ok')
  assert.equal(
    await patch(`${maps}/m`, pending('a.x.y')),
    '422 ConfigMap "m" is invalid: metadata.initializers: Invalid value: null: ' +
      'field is immutable once initialization has completed',
  )
})

test('Initializers: writing uninitialized objects requires the initialize verb', async t => {
  const server = await startOne(t)
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const allow = async (name: string, verbs: readonly string[]): Promise<UserInfo> => {
    await server.given(`${rbac}/clusterroles`, {
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }],
    })
    await server.given(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
    })
    return { username: name, groups: ['system:authenticated'] }
  }
  const usual = ['get', 'list', 'create', 'update', 'patch', 'delete']
  const user = server.as(await allow('user', usual))
  const initializer = server.as(await allow('initializer', [...usual, 'initialize']))
  const own = (initializers: object | null) => ({
    ...configMap('own'),
    metadata: { name: 'own', initializers },
  })
  const denied = /^403 configmaps "own" is forbidden: create with initializers denied: /u
  for (const given of [{}, { pending: [] }, { pending: [{ name: 'x.example.com' }] }]) {
    assert.match(outcome(await user('POST', maps, own(given))), denied)
  }
  assert.equal(outcome(await initializer('POST', maps, own({ pending: [] }))), 'ok')
  assert.equal((await user('GET', `${maps}/own`)).code, 200)
  const chosen = await initializer('POST', `${maps}?${unhidden}`, {
    ...configMap('chosen'),
    metadata: { name: 'chosen', initializers: { pending: [{ name: 'x.example.com' }] } },
  })
  assert.deepEqual(pendingOf(chosen), ['x.example.com'])
  const none = await user('POST', `${maps}?${unhidden}`, own(null)).then(outcome)
  assert.equal(none, '409 configmaps "own" already exists')
  await user('POST', `${maps}?${unhidden}`, configMap('m'))
  for (const change of [{ data: { a: '1' } }, pending(), { metadata: { initializers: null } }]) {
    assert.match(
      outcome(await user('PATCH', `${maps}/m`, change, merge)),
      /^403 configmaps "m" is forbidden: update to uninitialized resource denied: /u,
    )
  }
  assert.equal(outcome(await initializer('PATCH', `${maps}/m`, pending(), merge)), 'ok')
  assert.equal(outcome(await user('PATCH', `${maps}/m`, { data: { a: '1' } }, merge)), 'ok')
  await user('POST', `${maps}?${unhidden}`, configMap('n'))
  assert.equal((await user('DELETE', `${maps}/n`)).code, 200)
})

test('Initializers: a RoleBinding is effective once initialized, and reinvocation adds no initializers', async t => {
  const insisting: PluginFactory = () => ({
    name: 'Insisting',
    mutate({ object }, reinvocation) {
      reinvocation.request()
      return object
    },
  })
  const server = await startWith(t, [insisting, initializers])
  await server.given(configurations, configuration('one', 'a.example.com: rolebindings configmaps'))
  const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings'
  await server.request('POST', `${bindings}?${unhidden}`, {
    metadata: { name: 'b' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
  })
  await server.request('GET', bindings)
  const eve = server.as({ username: 'eve', groups: ['system:authenticated'] })
  assert.equal((await eve('POST', `${maps}?${unhidden}`, configMap('m'))).code, 403)
  await server.request('PATCH', `${bindings}/b`, pending(), merge)
  await server.request('GET', bindings)
  const created = await eve('POST', `${maps}?${unhidden}`, configMap('m'))
  assert.deepEqual([created.code, pendingOf(created)], [201, ['a.example.com']])
})

test('Initializers: the spec of an uninitialized pod is mutable, its status is not', async t => {
  const server = await startOne(t)
  await server.request('POST', `${pods}?${unhidden}`, pod('p'))
  assert.equal(
    await server.patch(`${pods}/p/status`, { status: { phase: 'Running' } }),
    '422 Pod "p" is invalid: status: Forbidden: must not update status when the object is uninitialized',
  )
  const sidecar = container({ name: 'b', resources: { requests: { cpu: '1' } } })
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
  const drop = { pending: [{ $patch: 'delete', name: 'a.example.com' }] }
  const patch = { metadata: { initializers: drop }, spec: { containers: [sidecar] } }
  assert.equal(outcome(await server.request('PATCH', `${pods}/p`, { spec: patch.spec }, strategic)), 'ok')
  assert.equal(
    await server.patch(`${pods}/p`, { spec: { containers: [{ name: 'a' }] } }),
    '422 Pod "p" is invalid: spec.containers[0].image: Required value',
  )
  const { body } = await server.request('PATCH', `${pods}/p`, patch, strategic)
  const names = (part(body, 'spec')['containers'] as never as readonly { name: string }[]).map(
    each => each.name,
  )
  assert.deepEqual([pendingOf({ body }), names.sort()], [undefined, ['a', 'b']])
  assert.equal((body as never as { status: { qosClass: string } }).status.qosClass, 'Burstable')
  const late = { spec: { containers: [container(), sidecar, container({ name: 'c' })] } }
  assert.match(await server.patch(`${pods}/p`, late), /^422 .*may not add or remove containers/u)
})

test('Initializers: changes by initializers are charged to quotas', async t => {
  const server = await startWith(t, [initializers, resourceQuota])
  await server.given(configurations, configuration('one', 'a.example.com: pods'))
  const quotas = '/api/v1/namespaces/default/resourcequotas'
  await server.given(quotas, { metadata: { name: 'q' }, spec: { hard: { 'requests.cpu': '2' } } })
  const hard = { 'requests.cpu': '2' }
  await server.request(
    'PATCH',
    `${quotas}/q/status`,
    { status: { hard, used: { 'requests.cpu': '0' } } },
    merge,
  )
  await server.request('GET', quotas)
  const asking = (cpu: string): object => ({
    containers: [container({ resources: { requests: { cpu } } })],
  })
  await server.request('POST', `${pods}?${unhidden}`, pod('p', asking('1')))
  assert.match(await server.patch(`${pods}/p`, { spec: asking('3') }), /^403 .*exceeded quota: q/u)
  assert.equal(await server.patch(`${pods}/p`, { spec: asking('2') }), 'ok')
  await server.patch(`${pods}/p`, pending())
  const { body } = await server.request('GET', `${quotas}/q`)
  assert.deepEqual((body as never as { status: { used: object } }).status.used, { 'requests.cpu': '2' })
})

test('Initializers: InitializerConfiguration is validated', async t => {
  const { create, request } = await startWith(t, initializers)
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
  const check = async (initializer: object, expected: string) => {
    const refused = '422 InitializerConfiguration.admissionregistration.k8s.io "c" is invalid: '
    const object = { ...configuration('c'), initializers: [initializer] }
    assert.equal(await create(configurations, object), `${refused}${expected}`)
  }
  const name = 'a.example.com'
  await check({}, 'initializers[0].name: Required value')
  await check(
    { name: 'a.b' },
    'initializers[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
  )
  const at = 'initializers[0].rules[0]'
  await check({ name, rules: [{ ...rule, apiGroups: [] }] }, `${at}.apiGroups: Required value`)
  await check({ name, rules: [{ ...rule, apiVersions: [''] }] }, `${at}.apiVersions[0]: Required value`)
  await check(
    { name, rules: [{ ...rule, resources: ['pods/status'] }] },
    `${at}.resources[0]: Invalid value: "pods/status": must not specify subresources`,
  )
  await check(
    { name, rules: [{ ...rule, resources: ['*', 'pods'] }] },
    `${at}.resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources`,
  )
  const { body } = await request('GET', '/apis/admissionregistration.k8s.io/v1alpha1')
  const names = (body['resources'] as never as readonly { name: string }[]).map(each => each.name)
  assert.deepEqual(names, ['initializerconfigurations'])
})

test('Initializers: without the plugin neither the resource nor the field exists', async t => {
  const strict = `${maps}?fieldValidation=Strict`
  const object = { ...configMap('m'), metadata: { name: 'm', initializers: { pending: [] } } }
  const described = ['/openapi/v2', '/openapi/v3/api/v1', '/openapi/v3/apis/apps/v1']
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
  const without = await startTestServer(t)
  assert.equal((await without.request('GET', configurations)).code, 404)
  assert.match(
    outcome(await without.request('POST', strict, object)),
    /unknown field "metadata.initializers"/u,
  )
  const dropped = await without.request('POST', maps, object)
  assert.deepEqual([dropped.code, pendingOf(dropped)], [201, undefined])
  for (const path of described)
    assert.doesNotMatch((await without.request('GET', path)).text, /Initializers"/u)
  const server = await startWith(t, initializers)
  assert.equal(outcome(await server.request('POST', strict, object)), 'ok')
  for (const path of described) {
    const { body, text } = await server.request('GET', path)
    const all = (body['definitions'] ?? body['components']!['schemas']) as Record<string, object>
    assert.deepEqual(
      [`${meta}.Initializers`, `${meta}.Initializer`].filter(name => !(name in all)),
      [],
      path,
    )
    assert.match(JSON.stringify(all[`${meta}.ObjectMeta`]), /"initializers":.*meta\.v1\.Initializers"/u)
    assert.ok(text.includes(`${meta}.Status`))
  }
})
