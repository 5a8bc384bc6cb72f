/**
 * Kubernetes' conformance requirements for admission webhooks, in their order. Those for custom resources and
 * for connections to pods are tested with these features.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyObject } from '#/apiserver/test-server.ts'
import type { Clock } from '#/platform/platform.ts'
import {
  configMap,
  configMaps,
  configuration,
  configurations,
  hurried,
  patchWith,
  rule,
  startWorld,
  usual,
  type Review,
  type World,
} from './webhook-server.ts'

const kinds = ['mutating', 'validating'] as const
const merge = { 'content-type': 'application/merge-patch+json' }
const mark = { op: 'add', path: '/data/mutated', value: 'yes' }

/** Makes the webhooks mutate or deny everything. */
function oppose({ answers }: World): void {
  answers.set('', () => patchWith(mark))
  answers.set('deny', () => ({ allowed: false, status: { message: 'the object is not wanted' } }))
}

let count = 0

/** The result of creating a config map: `mutated`, `denied` or `as it is`. */
async function fate({ request }: World, metadata: object = {}): Promise<string> {
  const { code, body } = await request('POST', configMaps, configMap(`m${count++}`, { a: 'b' }, metadata))
  if (code >= 400)
    return body.message?.includes('the object is not wanted') ? 'denied' : `${code} ${body.message}`
  return (body['data'] as unknown as { mutated?: string }).mutated ? 'mutated' : 'as it is'
}

const opposition = { mutating: 'mutated', validating: 'denied' } as const

const pathOf = { mutating: '', validating: 'deny' } as const

async function settled({ request }: World): Promise<void> {
  await request('GET', configMaps)
}

for (const kind of kinds) {
  test(`listing ${kind} webhooks should work`, async t => {
    const world = await startWorld(t)
    oppose(world)
    const { request, hook } = world
    for (let index = 0; index < 10; index++) {
      const webhook = { ...usual(hook), clientConfig: hook.clientConfig(pathOf[kind]) }
      const made = configuration(kind, `c${index}`, [webhook]) as { metadata: object }
      const labelled = { ...made, metadata: { ...made.metadata, labels: { mine: 'yes' } } }
      assert.equal((await request('POST', configurations(kind), labelled)).code, 201)
    }
    const listed = await request('GET', `${configurations(kind)}?labelSelector=mine=yes`)
    assert.equal((listed.body['items'] as unknown as object[]).length, 10)
    assert.equal(await fate(world), opposition[kind])
    assert.equal((await request('DELETE', `${configurations(kind)}?labelSelector=mine=yes`)).code, 200)
    await settled(world)
    assert.equal(await fate(world), 'as it is')
  })

  test(`patching/updating a ${kind} webhook should work`, async t => {
    const world = await startWorld(t)
    oppose(world)
    const { request, hook } = world
    await world.configure(kind, 'c', { clientConfig: hook.clientConfig(pathOf[kind]) })
    const url = `${configurations(kind)}/c`
    const { body } = await request('GET', url)
    const [webhook] = body['webhooks'] as unknown as readonly object[]
    const changed = { ...body, webhooks: [{ ...webhook, rules: [rule('configmaps', ['UPDATE'])] }] }
    assert.equal((await request('PUT', url, changed)).code, 200)
    await settled(world)
    assert.equal(await fate(world), 'as it is')
    const back = [{ op: 'replace', path: '/webhooks/0/rules/0/operations', value: ['CREATE'] }]
    assert.equal(
      (await request('PATCH', url, back, { 'content-type': 'application/json-patch+json' })).code,
      200,
    )
    await settled(world)
    assert.equal(await fate(world), opposition[kind])
  })

  test(`should be able to create and update ${kind} webhook configurations with match conditions`, async t => {
    const world = await startWorld(t)
    const conditions = (expression: string): readonly object[] => [{ name: 'expression-1', expression }]
    await world.configure(kind, 'c', {
      matchConditions: conditions("object.metadata.namespace == 'production'"),
    })
    const url = `${configurations(kind)}/c`
    const read = async (): Promise<AnyObject> => (await world.request('GET', url)).body
    const conditionsOf = ({ webhooks }: AnyObject): unknown =>
      (webhooks as unknown as readonly { matchConditions: unknown }[])[0]!.matchConditions
    const before = await read()
    assert.deepEqual(conditionsOf(before), conditions("object.metadata.namespace == 'production'"))
    const [webhook] = before['webhooks'] as unknown as readonly object[]
    const next = conditions("object.metadata.namespace == 'staging'")
    assert.equal(
      (await world.request('PUT', url, { ...before, webhooks: [{ ...webhook, matchConditions: next }] }))
        .code,
      200,
    )
    assert.deepEqual(conditionsOf(await read()), next)
  })
}

test('should be able to deny pod and configmap creation', async t => {
  const world = await startWorld(t, { platform: hurried() })
  const { request, hook, answers } = world
  answers.set('pods', ({ request: { object } }) => {
    const text = JSON.stringify(object)
    if (text.includes('"disallow"')) return () => undefined
    return text.includes('webhook-disallow')
      ? { allowed: false, status: { reason: 'the pod contains unwanted label' } }
      : { allowed: true }
  })
  answers.set('maps', ({ request: { object } }) =>
    JSON.stringify(object).includes('webhook-disallow')
      ? { allowed: false, status: { reason: 'the configmap contains unwanted key and value' } }
      : { allowed: true },
  )
  const namespaceSelector = { matchExpressions: [{ key: 'exempt', operator: 'DoesNotExist' }] }
  const common = { namespaceSelector, timeoutSeconds: 5 }
  await world.configure(
    'validating',
    'c',
    { ...common, rules: [rule('pods', ['CREATE', 'UPDATE'])], clientConfig: hook.clientConfig('pods') },
    {
      ...common,
      name: 'b.example.com',
      rules: [rule('configmaps', ['CREATE', 'UPDATE'])],
      clientConfig: hook.clientConfig('maps'),
    },
  )
  const pods = '/api/v1/namespaces/default/pods'
  const pod = (name: string, labels: object): object => ({
    metadata: { name, labels },
    spec: { containers: [{ name: 'a', image: 'x' }] },
  })
  const message = async (...words: Parameters<typeof request>): Promise<string> => {
    const { code, body } = await request(...words)
    return code < 300 ? 'ok' : (body.message ?? '')
  }
  assert.match(
    await message('POST', pods, pod('p', { x: 'webhook-disallow' })),
    /the pod contains unwanted label$/u,
  )
  assert.match(await message('POST', pods, pod('p', { x: 'disallow' })), /context deadline exceeded$/u)
  assert.equal((await request('GET', `${pods}/p`)).code, 404)
  const bad = { 'webhook-e2e-test': 'webhook-disallow' }
  assert.match(
    await message('POST', configMaps, configMap('m', bad)),
    /the configmap contains unwanted key and value$/u,
  )
  assert.equal(await message('POST', configMaps, configMap('m')), 'ok')
  assert.match(await message('PUT', `${configMaps}/m`, configMap('m', bad)), /unwanted key and value$/u)
  assert.match(await message('PATCH', `${configMaps}/m`, { data: bad }, merge), /unwanted key and value$/u)
  await request('POST', '/api/v1/namespaces', { metadata: { name: 'exempt', labels: { exempt: 'true' } } })
  assert.equal(await message('POST', '/api/v1/namespaces/exempt/configmaps', configMap('m', bad)), 'ok')
})

test('should deny crd creation', async t => {
  const world = await startWorld(t)
  oppose(world)
  await world.configure('validating', 'c', {
    rules: [rule('customresourcedefinitions', ['CREATE'], 'apiextensions.k8s.io', '*')],
    clientConfig: world.hook.clientConfig('deny'),
  })
  const names = { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList' }
  const { code, body } = await world.request(
    'POST',
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    {
      metadata: { name: 'foos.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names,
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    },
  )
  assert.equal(code, 400)
  assert.match(body.message ?? '', /the object is not wanted/u)
})

test('should honor timeout', async t => {
  const { clock, ...rest } = hurried()
  // Only timers of one second run fast: the webhook, whose timer is set later, misses that timeout and no other.
  const setTimer: Clock['setTimer'] = (delayMs, onTime) =>
    clock.setTimer(delayMs > 1_000 ? 10 * delayMs : delayMs, onTime)
  const world = await startWorld(t, { platform: { ...rest, clock: { ...clock, setTimer } } })
  world.answers.set('slow', ({ request: { uid }, kind, apiVersion }: Review) => response => {
    setTimer(1_000, () =>
      response.end(JSON.stringify({ kind, apiVersion, response: { uid, allowed: true } })),
    )
  })
  const check = async (fields: object, expected: RegExp): Promise<void> => {
    await world.configure('validating', 'slow', { clientConfig: world.hook.clientConfig('slow'), ...fields })
    assert.match(await fate(world), expected)
    await world.request('DELETE', `${configurations('validating')}/slow`)
    await settled(world)
  }
  await check({ timeoutSeconds: 1, failurePolicy: 'Fail' }, /slow\?timeout=1s": context deadline exceeded$/u)
  await check({ timeoutSeconds: 1, failurePolicy: 'Ignore' }, /^as it is$/u)
  await check({ timeoutSeconds: 10 }, /^as it is$/u)
  await check({}, /^as it is$/u)
})

test('should include webhook resources in discovery documents', async t => {
  const { request } = await startWorld(t)
  const groups = (await request('GET', '/apis')).body['groups'] as unknown as readonly {
    name: string
    versions: unknown
  }[]
  const group = groups.find(({ name }) => name === 'admissionregistration.k8s.io')
  assert.match(JSON.stringify(group?.versions), /"admissionregistration\.k8s\.io\/v1"/u)
  const { body } = await request('GET', '/apis/admissionregistration.k8s.io/v1')
  const names = (body['resources'] as unknown as readonly { name: string }[]).map(({ name }) => name)
  for (const kind of kinds) assert.ok(names.includes(`${kind}webhookconfigurations`))
})

test('should mutate configmap', async t => {
  const world = await startWorld(t)
  const { hook, answers } = world
  const addAfter = (path: string, present: string, added: string): void => {
    answers.set(path, ({ request: { object } }) => {
      const isPresent = present in (object!['data'] as unknown as object)
      return isPresent ? patchWith({ op: 'add', path: `/data/${added}`, value: 'yes' }) : { allowed: true }
    })
  }
  addAfter('one', 'mutation-start', 'mutation-stage-1')
  addAfter('two', 'mutation-stage-1', 'mutation-stage-2')
  await world.configure(
    'mutating',
    'c',
    { clientConfig: hook.clientConfig('one') },
    { name: 'b.example.com', clientConfig: hook.clientConfig('two') },
  )
  const { body } = await world.request('POST', configMaps, configMap('m', { 'mutation-start': 'yes' }))
  assert.deepEqual(body['data'], {
    'mutation-start': 'yes',
    'mutation-stage-1': 'yes',
    'mutation-stage-2': 'yes',
  })
})

test('should mutate pod and apply defaults after mutation', async t => {
  const world = await startWorld(t)
  const value = [{ image: 'webhook-added-image', name: 'webhook-added-init-container', resources: {} }]
  world.answers.set('', () => patchWith({ op: 'add', path: '/spec/initContainers', value }))
  await world.configure('mutating', 'c', { rules: [rule('pods', ['CREATE'])] })
  const { body } = await world.request('POST', '/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'a', image: 'x' }] },
  })
  const [added] = body['spec']!['initContainers'] as unknown as readonly Record<string, unknown>[]
  assert.deepEqual(
    [added!['name'], added!['terminationMessagePolicy']],
    ['webhook-added-init-container', 'File'],
  )
})

test('should not be able to mutate or prevent deletion of webhook configuration objects', async t => {
  const world = await startWorld(t)
  oppose(world)
  const { request, hook } = world
  const rules = [rule('*', ['*'], 'admissionregistration.k8s.io', '*')]
  world.answers.set('', () => patchWith({ op: 'add', path: '/metadata/labels', value: { mutated: 'yes' } }))
  await world.configure('mutating', 'changing', { rules })
  await world.configure('validating', 'denying', { rules, clientConfig: hook.clientConfig('deny') })
  for (const kind of kinds) {
    const webhook = { ...usual(hook), rules: [] }
    const { code, body } = await request(
      'POST',
      configurations(kind),
      configuration(kind, 'dummy', [webhook]),
    )
    assert.deepEqual([code, body.metadata['labels']], [201, undefined])
    assert.equal((await request('DELETE', `${configurations(kind)}/dummy`)).code, 200)
  }
})

test('should unconditionally reject operations on fail closed webhook', async t => {
  const world = await startWorld(t)
  const { url } = world.hook.clientConfig()
  await world.configure('validating', 'c', {
    clientConfig: { url },
    rules: [rule('configmaps', ['CREATE', 'UPDATE', 'DELETE'])],
  })
  const { code, body } = await world.request('POST', configMaps, configMap('m'))
  assert.deepEqual([code, body.reason], [500, 'InternalError'])
})
