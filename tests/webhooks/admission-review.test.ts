/** The writes that are sent to webhooks, and the contents of the requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyObject } from '#/apiserver/test-server.ts'
import {
  configMap,
  configMaps,
  patchWith,
  rule,
  startWorld,
  type Asked,
  type World,
} from './webhook-server.ts'

const pods = '/api/v1/namespaces/default/pods'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const merge = { 'content-type': 'application/merge-patch+json' }

const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }

function pod(name: string, metadata: object = {}): object {
  return { metadata: { name, ...metadata }, spec: { containers: [{ name: 'a', image: 'nginx' }] } }
}

function deployment(name: string): object {
  const labels = { app: name }
  return {
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template: { ...pod('p'), metadata: { labels } } },
  }
}

/** `UPDATE apps/v1 deployments/scale d default, autoscaling/v1 Scale: Scale, Scale, UpdateOptions`. */
function inShort({ request }: Asked): string {
  const {
    operation,
    resource,
    subResource,
    name = '',
    namespace = '',
    kind,
    object,
    oldObject,
    options,
  } = request
  const versionOf = ({ group, version }: AnyObject): string => [group, version].filter(Boolean).join('/')
  const path = [resource!['resource'], subResource].filter(Boolean).join('/')
  const kinds = [object, oldObject, options].map(each => (each as { kind?: string } | null)?.kind ?? '-')
  const what = `${operation} ${versionOf(resource!)} ${path} ${name} ${namespace}`
  return `${what}, ${versionOf(kind!)} ${kind!['kind']}: ${kinds.join(', ')}`
}

/** The requests to both kinds of webhooks since the last call; they must be the same. */
function asked({ hook }: World): readonly string[] {
  const both = hook.asked.splice(0)
  const of = (path: string): readonly string[] =>
    both.filter(each => each.path.startsWith(`/${path}`)).map(inShort)
  assert.deepEqual(of('change').toSorted(), of('look').toSorted())
  return of('look')
}

async function startWithBoth(t: Parameters<typeof startWorld>[0], rules: readonly object[]): Promise<World> {
  const world = await startWorld(t)
  await world.configure('mutating', 'test', { rules, clientConfig: world.hook.clientConfig('change') })
  await world.configure('validating', 'test', { rules, clientConfig: world.hook.clientConfig('look') })
  return world
}

test('webhooks are called for every write operation and subresource with its kind', async t => {
  const world = await startWithBoth(t, [everything])
  const { request } = world
  const check = async (
    line: string,
    body: object | undefined,
    ...expected: readonly string[]
  ): Promise<void> => {
    const [method = '', url = '', type] = line.split(' ')
    const headers = type ? { 'content-type': `application/${type}` } : undefined
    const answer = await request(method, url, body, headers)
    assert.ok(answer.code < 300, `${line}: ${answer.text}`)
    assert.deepEqual(asked(world), expected, line)
  }
  await check(`POST ${pods}`, pod('p'), 'CREATE v1 pods p default, v1 Pod: Pod, -, CreateOptions')
  await check(
    `PATCH ${pods}/p merge-patch+json`,
    { metadata: { labels: { a: 'b' } } },
    'UPDATE v1 pods p default, v1 Pod: Pod, Pod, PatchOptions',
  )
  await check(
    `PATCH ${pods}/p?fieldManager=me&force=true apply-patch+yaml`,
    { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 'c' } } },
    'UPDATE v1 pods p default, v1 Pod: Pod, Pod, PatchOptions',
  )
  await check(
    `PATCH ${configMaps}/m?fieldManager=me apply-patch+yaml`,
    configMap('m'),
    'CREATE v1 configmaps m default, v1 ConfigMap: ConfigMap, -, PatchOptions',
  )
  await check(
    `PUT ${configMaps}/m`,
    configMap('m', { a: 'b' }),
    'UPDATE v1 configmaps m default, v1 ConfigMap: ConfigMap, ConfigMap, UpdateOptions',
  )
  await check(
    `PATCH ${pods}/p/status merge-patch+json`,
    { status: { phase: 'Running' } },
    'UPDATE v1 pods/status p default, v1 Pod: Pod, Pod, PatchOptions',
  )
  await check(
    `PATCH ${pods}/p/ephemeralcontainers strategic-merge-patch+json`,
    { spec: { ephemeralContainers: [{ name: 'd', image: 'x' }] } },
    'UPDATE v1 pods/ephemeralcontainers p default, v1 Pod: Pod, Pod, PatchOptions',
  )
  await check(
    `POST ${pods}/p/binding`,
    { metadata: { name: 'p' }, target: { name: 'n' } },
    'CREATE v1 pods/binding p default, v1 Binding: Binding, -, CreateOptions',
  )
  await check(
    `POST ${pods}/p/eviction`,
    { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } },
    'CREATE v1 pods/eviction p default, policy/v1 Eviction: Eviction, -, CreateOptions',
  )
  await check(
    `DELETE ${pods}/p?gracePeriodSeconds=0`,
    undefined,
    'DELETE v1 pods p default, v1 Pod: -, Pod, DeleteOptions',
  )
  await check(
    `POST ${deployments}`,
    deployment('d'),
    'CREATE apps/v1 deployments d default, apps/v1 Deployment: Deployment, -, CreateOptions',
  )
  await check(
    `PATCH ${deployments}/d/scale merge-patch+json`,
    { spec: { replicas: 3 } },
    'UPDATE apps/v1 deployments/scale d default, autoscaling/v1 Scale: Scale, Scale, PatchOptions',
  )
  await check(
    'POST /api/v1/namespaces',
    { metadata: { name: 'n' } },
    'CREATE v1 namespaces n n, v1 Namespace: Namespace, -, CreateOptions',
  )
  await check(
    'DELETE /api/v1/namespaces/n',
    undefined,
    'DELETE v1 namespaces n n, v1 Namespace: -, Namespace, DeleteOptions',
  )
  await check(
    `POST ${configMaps}`,
    configMap('o'),
    'CREATE v1 configmaps o default, v1 ConfigMap: ConfigMap, -, CreateOptions',
  )
  await check(
    `DELETE ${configMaps}`,
    undefined,
    'DELETE v1 configmaps m default, v1 ConfigMap: -, ConfigMap, DeleteOptions',
    'DELETE v1 configmaps o default, v1 ConfigMap: -, ConfigMap, DeleteOptions',
  )
  await check(
    `POST ${configMaps}`,
    { metadata: { generateName: 'g-' } },
    'CREATE v1 configmaps  default, v1 ConfigMap: ConfigMap, -, CreateOptions',
  )
  await check(`GET ${pods}`, undefined)
})

test('an AdmissionReview has the user, the object, the operation and the options', async t => {
  const world = await startWorld(t)
  await world.configure('validating', 'test', {})
  const user = {
    username: 'ann',
    uid: '7',
    groups: ['system:masters', 'system:authenticated'],
    extra: { scopes: ['a', 'b'] },
  }
  await world.as(user)('POST', `${configMaps}?dryRun=All&fieldManager=me`, configMap('m', { a: 'b' }))
  const [{ request, path, headers, ...review }] = world.hook.asked as [Asked]
  assert.equal(path, '/?timeout=10s')
  assert.equal(headers['user-agent'], 'kube-apiserver-admission')
  const { uid, object, ...others } = request
  assert.match(uid, /^[-0-9a-f]{36}$/u)
  assert.deepEqual(
    { ...review, others },
    {
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1',
      others: {
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'm',
        namespace: 'default',
        operation: 'CREATE',
        userInfo: user,
        oldObject: null,
        dryRun: true,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'], fieldManager: 'me' },
      },
    },
  )
  assert.deepEqual(object!['data'], { a: 'b' })
  assert.match(JSON.stringify(object!['metadata']['managedFields']), /^\[\{"manager":"me"/u)
})

test('webhook selectors match the namespace and the old or the new object', async t => {
  const world = await startWorld(t)
  const { request } = world
  await request('POST', '/api/v1/namespaces', { metadata: { name: 'free', labels: { exempt: 'yes' } } })
  await world.configure('validating', 'by-namespace', {
    rules: [everything],
    namespaceSelector: { matchExpressions: [{ key: 'exempt', operator: 'DoesNotExist' }] },
    clientConfig: world.hook.clientConfig('look'),
  })
  await world.configure('mutating', 'by-object', {
    rules: [everything],
    objectSelector: { matchLabels: { watched: 'yes' } },
    clientConfig: world.hook.clientConfig('change'),
  })
  const check = async (
    method: string,
    url: string,
    body: object | undefined,
    expected: string,
  ): Promise<void> => {
    const answer = await request(method, url, body, method === 'PATCH' ? merge : undefined)
    assert.ok(answer.code < 300, answer.text)
    const paths = world.hook.asked.splice(0).map(({ path }) => path.slice(1).split('?')[0])
    assert.deepEqual(paths, expected.split(' ').filter(Boolean), `${method} ${url}`)
  }
  const labels = { watched: 'yes' }
  const free = '/api/v1/namespaces/free/configmaps'
  await check('POST', configMaps, configMap('m'), 'look')
  await check('POST', free, configMap('m'), '')
  await check('POST', free, configMap('n', {}, { labels }), 'change')
  await check('PATCH', `${free}/n`, { metadata: { labels: null } }, 'change')
  await check('PATCH', `${free}/n`, { data: { a: 'b' } }, '')
  await check('POST', '/api/v1/namespaces', { metadata: { name: 'new', labels: { exempt: 'yes' } } }, '')
  await check('PATCH', '/api/v1/namespaces/new', { metadata: { labels: { exempt: null } } }, 'look')
  await check('DELETE', '/api/v1/namespaces/free', undefined, '')
  await check('DELETE', '/api/v1/namespaces/new', undefined, 'look')
  await check(
    'POST',
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    { metadata: { name: 'c' }, value: 1 },
    'look',
  )
})

test('matchPolicy Equivalent converts other versions of a resource, Exact does not', async t => {
  const world = await startWorld(t)
  const rules = [rule('horizontalpodautoscalers', ['*'], 'autoscaling', 'v1')]
  await world.configure(
    'mutating',
    'test',
    { rules },
    { name: 'b.example.com', rules, matchPolicy: 'Exact', clientConfig: world.hook.clientConfig('exact') },
  )
  world.answers.set('', () =>
    patchWith({ op: 'replace', path: '/spec/targetCPUUtilizationPercentage', value: 7 }),
  )
  const { code, body, text } = await world.request(
    'POST',
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    {
      metadata: { name: 'h' },
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
        ],
      },
    },
  )
  assert.equal(code, 201, text)
  assert.match(JSON.stringify(body['spec']), /"averageUtilization":7/u)
  const [{ request }] = world.hook.asked as [Asked]
  assert.equal(world.hook.asked.length, 1)
  assert.deepEqual(
    [
      request['kind']!['version'],
      request['resource']!['version'],
      request['requestKind']!['version'],
      request['requestResource']!['version'],
    ],
    ['v1', 'v1', 'v2', 'v2'],
  )
  const { apiVersion, spec } = request['object']!
  assert.deepEqual([apiVersion, spec!['targetCPUUtilizationPercentage']], ['autoscaling/v1', 50])
})

test('rules for Events of one group match those of the other', async t => {
  const world = await startWorld(t)
  await world.configure('validating', 'test', { rules: [rule('events', ['CREATE'], 'events.k8s.io')] })
  const { code, text } = await world.request('POST', '/api/v1/namespaces/default/events', {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    reason: 'x',
    type: 'Normal',
    source: { component: 'c' },
  })
  assert.equal(code, 201, text)
  const { object, requestResource } = world.hook.asked[0]!.request
  assert.deepEqual(
    [object!['apiVersion'], object!['regarding']!['name'], requestResource!['group']],
    ['events.k8s.io/v1', 'p', ''],
  )
})

test('webhook configurations are not sent to webhooks', async t => {
  const world = await startWithBoth(t, [everything])
  world.answers.set('look', () => ({ allowed: false }))
  const base = '/apis/admissionregistration.k8s.io/v1'
  const policy = { metadata: { name: 'p' }, spec: { validations: [{ expression: 'true' }] } }
  const made = await world.request('POST', `${base}/validatingadmissionpolicies`, policy)
  assert.ok(made.code < 300 || made.code === 422, made.text)
  for (const kind of ['mutating', 'validating']) {
    const { code, text } = await world.request('DELETE', `${base}/${kind}webhookconfigurations/test`)
    assert.equal(code, 200, text)
  }
  assert.deepEqual(world.hook.asked, [])
})

test('a dry run calls only webhooks without side effects', async t => {
  const world = await startWorld(t)
  // Old configurations may have values that are no longer valid for new ones.
  const { request } = world
  await world.configure('validating', 'test', { sideEffects: 'NoneOnDryRun' })
  assert.equal((await request('POST', `${configMaps}?dryRun=All`, configMap('m'))).code, 201)
  const odd = await request('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'odd' },
    webhooks: [
      {
        name: 'a.example.com',
        clientConfig: world.hook.clientConfig(),
        sideEffects: 'Some',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  assert.equal(odd.code, 422)
})

test('mutations are seen by later webhooks and by reinvocations', async t => {
  const world = await startWorld(t)
  const { hook, answers, request } = world
  const at = (path: string, fields: object = {}): object => ({
    name: `${path}.example.com`,
    clientConfig: hook.clientConfig(path),
    ...fields,
  })
  await world.configure('mutating', 'b', at('third'))
  await world.configure('mutating', 'a', at('first', { reinvocationPolicy: 'IfNeeded' }), at('second'))
  const count = (path: string): void => {
    answers.set(path, ({ request: { object } }) => {
      const { seen = '' } = object!['data'] as unknown as { seen?: string }
      return patchWith({ op: 'add', path: '/data/seen', value: `${seen}${path[0]}` })
    })
  }
  for (const path of ['first', 'second', 'third']) count(path)
  const made = await request('POST', configMaps, configMap('m', { a: '' }))
  assert.deepEqual(made.body['data'], { a: '', seen: 'fstf' })
  assert.deepEqual(
    hook.asked.map(({ path }) => path.split('?')[0]),
    ['/first', '/second', '/third', '/first'],
  )
  // The webhook with reinvocation policy IfNeeded is not called again when no later one changes the object.
  hook.asked.length = 0
  answers.set('second', () => ({ allowed: true }))
  answers.set('third', () => ({ allowed: true }))
  await request('POST', configMaps, configMap('n', { a: '' }))
  assert.equal(hook.asked.length, 3)
})

test('mutated objects are decoded, defaulted and limited to the fields of the subresource', async t => {
  const world = await startWorld(t)
  const { request } = world
  const rules = [
    {
      operations: ['UPDATE'],
      apiGroups: ['', 'apps'],
      apiVersions: ['v1'],
      resources: ['pods/status', 'deployments', 'deployments/scale'],
    },
  ]
  await world.configure('mutating', 'test', { rules })
  const fields = async (url: string): Promise<AnyObject> => (await request('GET', url)).body
  await request('POST', pods, pod('p'))
  world.answers.set('', () =>
    patchWith(
      { op: 'replace', path: '/spec/containers/0/image', value: 'evil' },
      { op: 'add', path: '/status/message', value: 'hello' },
    ),
  )
  await request('PATCH', `${pods}/p/status`, { status: { phase: 'Running' } }, merge)
  const changed = await fields(`${pods}/p`)
  assert.match(JSON.stringify(changed['spec']), /"image":"nginx"/u)
  assert.match(JSON.stringify(changed), /"message":"hello"/u)
  await request('POST', deployments, deployment('d'))
  world.answers.set('', () => patchWith({ op: 'replace', path: '/spec/replicas', value: 9 }))
  const { body } = await request('PATCH', `${deployments}/d/scale`, { spec: { replicas: 2 } }, merge)
  assert.equal(Number(body['spec']!['replicas']), 9)
  world.answers.set('', () =>
    patchWith(
      { op: 'add', path: '/status/replicas', value: 5 },
      { op: 'add', path: '/spec/paused', value: true },
    ),
  )
  await request('PATCH', `${deployments}/d`, { metadata: { labels: { a: 'b' } } }, merge)
  const { spec, status, metadata } = (await fields(`${deployments}/d`)) as unknown as Record<
    string,
    Record<string, unknown>
  >
  assert.deepEqual(
    [spec!['paused'], spec!['replicas'], status!['replicas'], metadata!['generation']],
    [true, 9, undefined, 3],
  )
  assert.doesNotMatch(JSON.stringify(metadata!['managedFields']), /f:paused/u)
})

test('webhooks can deny but not mutate a deletion', async t => {
  const world = await startWithBoth(t, [rule('configmaps', ['DELETE'])])
  const { request } = world
  await request('POST', configMaps, configMap('m'))
  world.answers.set('change', () => patchWith({ op: 'add', path: '/data', value: {} }))
  const { code, body } = await request('DELETE', `${configMaps}/m`)
  assert.deepEqual(
    [code, body.message],
    [
      500,
      'Internal error occurred: admission webhook "a.example.com" attempted to modify the object, ' +
        'which is not supported for this operation',
    ],
  )
  world.answers.delete('change')
  world.answers.set('look', () => ({ allowed: false, status: { code: 403 } }))
  assert.equal((await request('DELETE', `${configMaps}/m`)).code, 403)
  assert.equal((await request('DELETE', configMaps)).code, 403)
  assert.equal((await request('GET', `${configMaps}/m`)).code, 200)
})

test('an update with a conflict is sent to webhooks again with the current object', async t => {
  const world = await startWorld(t)
  const { request, hook } = world
  await request('POST', configMaps, configMap('m', { a: '1' }))
  await world.configure('validating', 'test', { rules: [rule('configmaps', ['UPDATE'])] })
  let isFirst = true
  world.answers.set('', () => response => {
    const answer = (): void => {
      const { uid } = hook.asked.at(-1)!.request
      response.end(
        JSON.stringify({
          kind: 'AdmissionReview',
          apiVersion: 'admission.k8s.io/v1',
          response: { uid, allowed: true },
        }),
      )
    }
    if (!isFirst) return answer()
    isFirst = false
    const { uid } = hook.asked.at(-1)!.request
    void request('PATCH', `${configMaps}/m`, { data: { b: '2' } }, merge).then(() => {
      response.end(
        JSON.stringify({
          kind: 'AdmissionReview',
          apiVersion: 'admission.k8s.io/v1',
          response: { uid, allowed: true },
        }),
      )
    })
  })
  await request('PATCH', `${configMaps}/m`, { data: { a: '3' } }, merge)
  const seen = hook.asked.map(({ request: { object, oldObject } }) => [oldObject!['data'], object!['data']])
  assert.deepEqual(seen, [
    [{ a: '1' }, { a: '3' }],
    [{ a: '1' }, { a: '1', b: '2' }],
    [
      { a: '1', b: '2' },
      { a: '3', b: '2' },
    ],
  ])
})
