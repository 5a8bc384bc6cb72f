/**
 * Kubernetes 1.36's conformance tests for quotas and limit ranges, as far as the API server implements them:
 * usage is increased by admission. Recalculation after deletions is done by the quota controller; its initial
 * status is written here instead.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { readAdmission } from '#/apiserver/admission.ts'
import { part, startTestServer, type Answer, type TestServer } from '#/apiserver/test-server.ts'
import { nodePlatform } from '#/platform/node.ts'
import { configMap, namespace, pod, secret } from './users.ts'

type Amounts = Readonly<Record<string, string>>

interface Quotas extends TestServer {
  /** Creates a quota and sets its initial usage to zero, as the controller does. */
  readonly quota: (name: string, hard: Amounts, spec?: object) => Promise<void>
  readonly used: (name: string) => Promise<Amounts>
  /** Creates an object in the namespace: returns `ok` or the error. */
  readonly create: (resource: string, object: object) => Promise<string>
  readonly patch: (path: string, change: object) => Promise<Answer>
}

const team = '/api/v1/namespaces/team'
const quotas = `${team}/resourcequotas`
const limitRanges = `${team}/limitranges`
const merge = { 'content-type': 'application/merge-patch+json' }

async function start(t: TestContext): Promise<Quotas> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const admission = await readAdmission(platform.files, { disable: ['ServiceAccount'] })
  const server = await startTestServer(t, platform, { admission })
  const { request } = server
  assert.equal((await request('POST', '/api/v1/namespaces', namespace('team'))).code, 201)
  const patch: Quotas['patch'] = (path, change) => request('PATCH', path, change, merge)
  return {
    ...server,
    patch,
    quota: async (name, hard, spec = {}) => {
      const made = await request('POST', quotas, { metadata: { name }, spec: { hard, ...spec } })
      assert.equal(made.code, 201, made.text)
      const none = Object.fromEntries(Object.keys(hard).map(key => [key, '0']))
      const entered = await patch(`${quotas}/${name}/status`, { status: { hard, used: none } })
      assert.equal(entered.code, 200, entered.text)
      await request('GET', quotas)
    },
    used: async name =>
      (statusOf(await request('GET', `${quotas}/${name}`)) as { readonly used: Amounts }).used,
    create: async (resource, object) => {
      const path = resource.startsWith('apps/')
        ? `/apis/apps/v1/namespaces/team/${resource.slice(5)}`
        : `${team}/${resource}`
      const { code, body } = await request('POST', path, object)
      return code === 201 ? 'ok' : `${code} ${body.message ?? ''}`
    },
  }
}

function statusOf({ body }: Answer): unknown {
  return part(body, 'status')
}

function specOf({ body }: Answer): unknown {
  return part(body, 'spec')
}

/** A pod with these requests in its only container. */
function asking(name: string, requests: Amounts, limits: Amounts = {}, spec: object = {}): object {
  return pod(name, { containers: [{ name: 'a', image: 'a', resources: { requests, limits } }], ...spec })
}

const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'a', image: 'a' }] },
}

/** The objects that the conformance tests create, with their quota usage. */
const lives: readonly (readonly [string, string, (name: string) => object, Amounts])[] = [
  ['a config map', 'configmaps', configMap, { configmaps: '1' }],
  ['a secret', 'secrets', secret, { secrets: '1' }],
  [
    'a replication controller',
    'replicationcontrollers',
    name => ({ metadata: { name }, spec: { replicas: 0, selector: { a: 'b' }, template } }),
    { replicationcontrollers: '1' },
  ],
  [
    'a replica set',
    'apps/replicasets',
    name => ({ metadata: { name }, spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template } }),
    { 'count/replicasets.apps': '1' },
  ],
  [
    'a service of the cluster',
    'services',
    name => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } }),
    { 'services': '1', 'services.nodeports': '0', 'services.loadbalancers': '0' },
  ],
  [
    'a service at the nodes',
    'services',
    name => ({ metadata: { name }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }),
    { 'services': '1', 'services.nodeports': '1', 'services.loadbalancers': '0' },
  ],
]

for (const [what, resource, make, counts] of lives) {
  test(`a quota captures the life of ${what}`, async t => {
    const { quota, used, create } = await start(t)
    await quota('q', counts)
    assert.equal(await create(resource, make('first')), 'ok')
    assert.deepEqual(await used('q'), counts)
    assert.match(await create(resource, make('second')), /^403 .*exceeded quota: q, requested: /)
    assert.deepEqual(await used('q'), counts)
  })
}

test('a service rejected by a quota is not counted', async t => {
  const { quota, used, create } = await start(t)
  await quota('q', { 'services': '5', 'services.nodeports': '0', 'services.loadbalancers': '0' })
  for (const type of ['NodePort', 'LoadBalancer']) {
    const service = { metadata: { name: type.toLowerCase() }, spec: { type, ports: [{ port: 80 }] } }
    assert.match(await create('services', service), /exceeded quota: q/)
  }
  assert.deepEqual(await used('q'), {
    'services': '0',
    'services.nodeports': '0',
    'services.loadbalancers': '0',
  })
})

test('a quota captures the life of a pod with all its requests', async t => {
  const { quota, used, create, patch } = await start(t)
  await quota('q', {
    'pods': '5',
    'cpu': '1',
    'memory': '500Mi',
    'ephemeral-storage': '50Gi',
    'requests.example.com/dongle': '3',
  })
  const dongle = { 'example.com/dongle': '2' }
  const first = asking(
    'first',
    { 'cpu': '500m', 'memory': '252Mi', 'ephemeral-storage': '30Gi', ...dongle },
    dongle,
  )
  assert.equal(await create('pods', first), 'ok')
  const usage = {
    'pods': '1',
    'cpu': '500m',
    'memory': '252Mi',
    'ephemeral-storage': '30Gi',
    'requests.example.com/dongle': '2',
  }
  assert.deepEqual(await used('q'), usage)
  const large = asking('large', { 'cpu': '600m', 'memory': '100Mi', 'ephemeral-storage': '1Gi' })
  assert.match(
    await create('pods', large),
    /exceeded quota: q, requested: cpu=600m, used: cpu=500m, limited: cpu=1$/,
  )
  const many = asking('many', { 'cpu': '1m', 'memory': '1Mi', 'ephemeral-storage': '1Gi', ...dongle }, dongle)
  assert.match(await create('pods', many), /exceeded quota: q, requested: requests.example.com\/dongle=2/)
  const unsaid = await create('pods', pod('unsaid'))
  assert.match(unsaid, /failed quota: q: must specify cpu for: main; memory for: main$/)
  const resources = { requests: { cpu: '100m' } }
  const changed = await patch(`${team}/pods/first`, {
    spec: { containers: [{ name: 'a', image: 'a', resources }] },
  })
  assert.deepEqual([changed.code, changed.body.reason], [422, 'Invalid'])
  assert.deepEqual(await used('q'), usage)
})

test('quotas with scopes BestEffort and NotBestEffort count their own pods', async t => {
  const { quota, used, create } = await start(t)
  await quota('best', { pods: '5' }, { scopes: ['BestEffort'] })
  await quota('better', { pods: '5' }, { scopes: ['NotBestEffort'] })
  assert.equal(await create('pods', pod('none')), 'ok')
  assert.deepEqual([await used('best'), await used('better')], [{ pods: '1' }, { pods: '0' }])
  assert.equal(await create('pods', asking('some', { cpu: '500m' }, { cpu: '1' })), 'ok')
  assert.deepEqual([await used('best'), await used('better')], [{ pods: '1' }, { pods: '1' }])
})

test('quotas with scopes Terminating and NotTerminating count their own pods', async t => {
  const { quota, used, create } = await start(t)
  const hard = {
    'pods': '5',
    'requests.cpu': '1',
    'requests.memory': '500Mi',
    'limits.cpu': '2',
    'limits.memory': '1Gi',
  }
  const none = {
    'pods': '0',
    'requests.cpu': '0',
    'requests.memory': '0',
    'limits.cpu': '0',
    'limits.memory': '0',
  }
  const some = {
    'pods': '1',
    'requests.cpu': '500m',
    'requests.memory': '200Mi',
    'limits.cpu': '1',
    'limits.memory': '400Mi',
  }
  await quota('ending', hard, { scopes: ['Terminating'] })
  await quota('lasting', hard, { scopes: ['NotTerminating'] })
  const amounts = [
    { cpu: '500m', memory: '200Mi' },
    { cpu: '1', memory: '400Mi' },
  ] as const
  assert.equal(await create('pods', asking('lasting', ...amounts)), 'ok')
  assert.deepEqual([await used('lasting'), await used('ending')], [some, none])
  assert.equal(await create('pods', asking('ending', ...amounts, { activeDeadlineSeconds: 3_600 })), 'ok')
  assert.deepEqual([await used('lasting'), await used('ending')], [some, some])
})

test('a quota is created, updated, listed by label, patched and deleted', async t => {
  const { request, patch } = await start(t)
  const hard = { cpu: '1', memory: '500Mi' }
  const metadata = { name: 'q', labels: { set: 'one' } }
  const made = await request('POST', quotas, { metadata, spec: { hard } })
  assert.deepEqual(specOf(made), { hard })
  const changed = { ...made.body, spec: { hard: { cpu: '2', memory: '1Gi' } } }
  assert.deepEqual(specOf(await request('PUT', `${quotas}/q`, changed)), {
    hard: { cpu: '2', memory: '1Gi' },
  })
  const found = await request('GET', '/api/v1/resourcequotas?labelSelector=set%3Done')
  assert.equal((found.body['items'] as unknown as unknown[]).length, 1)
  const patched = await patch(`${quotas}/q`, {
    metadata: { labels: { q: 'patched' } },
    spec: { hard: { memory: '750Mi' } },
  })
  assert.deepEqual(specOf(patched), { hard: { cpu: '2', memory: '750Mi' } })
  assert.equal((await request('DELETE', `${quotas}?labelSelector=q%3Dpatched`)).code, 200)
  assert.equal((await request('GET', `${quotas}/q`)).code, 404)
})

test('spec and status of a quota are updated separately', async t => {
  const { request, patch } = await start(t)
  const hard = { cpu: '500m', memory: '500Mi' }
  const made = await request('POST', quotas, { metadata: { name: 'q' }, spec: { hard } })
  const status = { hard }
  const replaced = await request('PUT', `${quotas}/q/status`, {
    ...made.body,
    spec: { hard: { cpu: '9' } },
    status,
  })
  assert.deepEqual([specOf(replaced), statusOf(replaced)], [{ hard }, status])
  const more = { hard: { cpu: '1', memory: '1Gi' } }
  const patched = await patch(`${quotas}/q`, { spec: more, status: { hard: { cpu: '7' } } })
  assert.deepEqual([specOf(patched), statusOf(patched)], [more, status])
  assert.deepEqual(statusOf(await patch(`${quotas}/q/status`, { status: more })), more)
  const read = await request('GET', `${quotas}/q/status`)
  assert.deepEqual([specOf(read), statusOf(read)], [more, more])
  const again = await patch(`${quotas}/q/status`, {
    spec: { hard: { cpu: '3' } },
    status: { hard: { cpu: '2' } },
  })
  assert.deepEqual([specOf(again), statusOf(again)], [more, { hard: { cpu: '2', memory: '1Gi' } }])
})

const limits = [
  {
    type: 'Container',
    min: { 'cpu': '50m', 'memory': '100Mi', 'ephemeral-storage': '100Gi' },
    max: { 'cpu': '500m', 'memory': '500Mi', 'ephemeral-storage': '500Gi' },
    default: { 'cpu': '500m', 'memory': '500Mi', 'ephemeral-storage': '500Gi' },
    defaultRequest: { 'cpu': '100m', 'memory': '200Mi', 'ephemeral-storage': '200Gi' },
  },
] as const

test('a limit range sets defaults for pods and rejects values outside its bounds', async t => {
  const { request, create, patch } = await start(t)
  const made = await request('POST', limitRanges, { metadata: { name: 'l' }, spec: { limits } })
  assert.deepEqual(specOf(made), { limits })
  await request('GET', limitRanges)
  const resources = async (object: object): Promise<object> => {
    const answer = await request('POST', `${team}/pods`, object)
    assert.equal(answer.code, 201, answer.text)
    return (specOf(answer) as { readonly containers: readonly { readonly resources: object }[] })
      .containers[0]!.resources
  }
  const [{ default: all, defaultRequest }] = limits
  assert.deepEqual(await resources(pod('none')), { limits: all, requests: defaultRequest })
  assert.deepEqual(await resources(asking('part', { cpu: '300m', memory: '150Mi' }, { cpu: '300m' })), {
    limits: { ...all, cpu: '300m' },
    requests: { 'cpu': '300m', 'memory': '150Mi', 'ephemeral-storage': '200Gi' },
  })
  const small = asking('small', { cpu: '10m', memory: '50Mi' })
  assert.match(
    await create('pods', small),
    /^403 .*minimum cpu usage per Container is 50m, but request is 10m/,
  )
  const large = asking('large', {}, { cpu: '600m', memory: '600Mi' })
  assert.match(
    await create('pods', large),
    /^403 .*maximum cpu usage per Container is 500m, but limit is 600m/,
  )
  const [{ min, ...others }] = limits
  const lower = [{ ...others, min: { ...min, cpu: '9m', memory: '49Mi' } }]
  assert.equal((await patch(`${limitRanges}/l`, { spec: { limits: lower } })).code, 200)
  await request('GET', limitRanges)
  assert.equal(await create('pods', small), 'ok')
  assert.match(await create('pods', large), /^403 /)
})

test('limit ranges are listed in all namespaces, patched, and deleted by label', async t => {
  const { request, patch } = await start(t)
  const other = '/api/v1/namespaces/other'
  await request('POST', '/api/v1/namespaces', namespace('other'))
  const labels = { set: 'one' }
  for (const folder of [team, other]) {
    const answer = await request('POST', `${folder}/limitranges`, {
      metadata: { name: 'l', labels },
      spec: { limits },
    })
    assert.equal(answer.code, 201)
  }
  const count = async (): Promise<number> => {
    const { body } = await request('GET', '/api/v1/limitranges?labelSelector=set%3Done')
    return (body['items'] as unknown as unknown[]).length
  }
  assert.equal(await count(), 2)
  const [first] = limits
  const changed = [{ ...first, max: { ...first.max, cpu: '2' } }]
  const patched = await patch(`${limitRanges}/l`, {
    metadata: { labels: { l: 'patched' } },
    spec: { limits: changed },
  })
  assert.deepEqual(specOf(patched), { limits: changed })
  assert.equal((await request('DELETE', `${limitRanges}?labelSelector=l%3Dpatched`)).code, 200)
  assert.equal(await count(), 1)
})
