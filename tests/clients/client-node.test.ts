import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { apiClasses, classNameOf, type ApiClass } from './client-node/api-class.ts'
import { changed } from './client-node/changed.ts'
import { clusterForFile } from './cluster.ts'
import { hasStatusOfServer, isStatusWritten, samples, type Sample } from './samples.ts'
import { waitUntil } from '../wait-until.ts'

const cluster = await clusterForFile()
const config = new k8s.KubeConfig()
config.loadFromFile(cluster.kubeconfig)
const core = config.makeApiClient(k8s.CoreV1Api)
const apps = config.makeApiClient(k8s.AppsV1Api)

/** The Status of an error response. */
async function failure(request: Promise<unknown>): Promise<k8s.V1Status> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof k8s.ApiException)) throw error
    const body: unknown = error.body
    const status = (typeof body === 'string' ? JSON.parse(body) : body) as k8s.V1Status
    assert.deepEqual([status.kind, status.status, status.code], ['Status', 'Failure', error.code])
    return status
  }
  assert.fail('the request is refused')
}

/** An unknown group gets 404 as plain text. */
const isServed = async (request: Promise<unknown>): Promise<boolean> => {
  try {
    await request
    return true
  } catch (error) {
    assert.ok(error instanceof k8s.ApiException && error.code === 404, String(error))
    return false
  }
}

async function namespace(name: string): Promise<string> {
  await core.createNamespace({ body: { metadata: { name } } })
  return name
}

const mergePatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch)
const jsonPatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.JsonPatch)
const strategicPatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.StrategicMergePatch)
const serverSideApply = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.ServerSideApply)

function deployment(name: string, image: string): k8s.V1Deployment {
  const labels = { app: name }
  const containers = [{ name: 'main', image, ports: [{ containerPort: 80 }] }]
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

test('client-node API classes find served groups, and get 404 for others', async () => {
  const all = await config.makeApiClient(k8s.ApisApi).getAPIVersions()
  // The client has classes only for the built-in groups.
  const groups = all.groups.filter(({ name }) => name !== 'metrics.k8s.io')
  const versions = groups.flatMap(group => group.versions.map(version => version.groupVersion))
  const served: string[] = []
  for (const each of apiClasses(config, /V\d\w*Api$/)) {
    if (await isServed(each.call('getAPIResources'))) served.push(each.name)
  }
  assert.deepEqual(served.sort(), ['v1', ...versions].map(classNameOf).sort())
  const groupsServed: string[] = []
  for (const each of apiClasses(config, /^(?!.*V\d).*Api$/).filter(({ methods }) =>
    methods.includes('getAPIGroup'),
  )) {
    if (await isServed(each.call('getAPIGroup'))) groupsServed.push(each.name)
  }
  assert.equal(groupsServed.length, groups.length)
  assert.deepEqual((await config.makeApiClient(k8s.CoreApi).getAPIVersions()).versions, ['v1'])
  assert.match((await config.makeApiClient(k8s.VersionApi).getCode()).gitVersion, /^v1\.36\.\d+\+k8ts\./)
})

test('every list method of client-node succeeds', async () => {
  const listed = new Set<string>()
  for (const each of apiClasses(config, /V\d\w*Api$/)) {
    if (!(await isServed(each.call('getAPIResources')))) continue
    const lists = each.methods.filter(method => method.startsWith('list'))
    await Promise.all(
      lists.map(async method => {
        const list = (await each.call(method, { namespace: 'default', limit: 3 })) as List
        assert.match(list.kind ?? '', /List$/, `${each.name}.${method}`)
        assert.ok(Array.isArray(list.items) && list.metadata !== undefined, `${each.name}.${method}`)
        listed.add(`${list.apiVersion} ${list.kind}`)
      }),
    )
  }
  assert.ok(listed.size >= samples.length, `${listed.size} kinds are listed`)
})

test('the samples cover every kind that can be stored', async () => {
  const kinds: string[] = []
  for (const each of apiClasses(config, /V\d\w*Api$/)) {
    if (!(await isServed(each.call('getAPIResources')))) continue
    const { groupVersion, resources } = (await each.call('getAPIResources')) as k8s.V1APIResourceList
    const stored = resources.filter(({ verbs }) => ['create', 'list'].every(verb => verbs.includes(verb)))
    kinds.push(...stored.map(({ kind }) => `${groupVersion} ${kind}`))
  }
  assert.deepEqual(kinds.sort(), samples.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort())
})

test('client-node creates, reads, replaces, patches, lists and deletes objects of every kind', async t => {
  const home = await namespace('samples')
  const classes = new Map(apiClasses(config, /V\d\w*Api$/).map(each => [each.name, each]))
  for (const sample of samples) {
    await t.test(`${sample.apiVersion} ${sample.kind}`, () => {
      return live(classes.get(classNameOf(sample.apiVersion))!, sample, home)
    })
  }
})

/** Runs the lifecycle of one object through the methods of its class. */
async function live(api: ApiClass, sample: Sample, home: string): Promise<void> {
  const {
    apiVersion,
    kind,
    metadata: { name },
  } = sample
  const isNamespaced = api.methods.includes(`createNamespaced${kind}`)
  const method = (verb: string): string => `${verb}${isNamespaced ? 'Namespaced' : ''}${kind}`
  const place = isNamespaced ? { namespace: home } : {}
  // The package serializes times itself.
  const body = 'eventTime' in sample ? { ...sample, eventTime: new k8s.V1MicroTime() } : sample
  const created = (await api.call(method('create'), { ...place, body })) as Stored
  assert.deepEqual([created.apiVersion, created.kind, created.metadata.name], [apiVersion, kind, name])
  assert.ok(created.metadata.creationTimestamp instanceof Date)

  let read = (await api.call(method('read'), { ...place, name })) as Stored
  if (hasStatusOfServer(sample)) {
    // The API server itself writes its status.
    await waitUntil(async () => {
      read = (await api.call(method('read'), { ...place, name })) as Stored
      return isStatusWritten(sample, read)
    })
  } else {
    assert.deepEqual(read, created)
  }
  const metadata = changed(read.metadata, { labels: { ...read.metadata.labels, step: 'replaced' } })
  const replaced = (await api.call(method('replace'), {
    ...place,
    name,
    body: changed(read, { metadata }),
  })) as Stored
  assert.deepEqual(
    [replaced.metadata.uid, replaced.metadata.labels?.['step']],
    [created.metadata.uid, 'replaced'],
  )
  const stale = changed(read, { metadata: changed(read.metadata, { labels: { step: 'too late' } }) })
  assert.equal(
    (await failure(api.call(method('replace'), { ...place, name, body: stale }))).reason,
    'Conflict',
  )
  const patch = { metadata: { annotations: { step: 'patched' } } }
  const patched = (await api.call(method('patch'), { ...place, name, body: patch }, mergePatch)) as Stored
  assert.deepEqual(
    [patched.metadata.annotations?.['step'], patched.metadata.labels?.['step']],
    ['patched', 'replaced'],
  )
  if (api.methods.includes(`${method('read')}Status`)) {
    assert.deepEqual(await api.call(`${method('read')}Status`, { ...place, name }), patched)
  }
  const list = (await api.call(method('list'), { ...place, labelSelector: 'step=replaced' })) as List
  assert.deepEqual(
    list.items.map(item => item.metadata.uid),
    [created.metadata.uid],
  )
  await api.call(method('delete'), { ...place, name })
  const left = (await api.call(method('read'), { ...place, name }).catch(() => undefined)) as
    | Stored
    | undefined
  assert.ok(left === undefined || left.metadata.deletionTimestamp, 'what is held back is marked')
}

interface Stored extends k8s.KubernetesObject {
  readonly metadata: k8s.V1ObjectMeta
}

type List = k8s.KubernetesListObject<Stored>

test('client-node sends patches of all four types', async () => {
  const home = await namespace('patches')
  const place = { namespace: home, name: 'web' }
  await apps.createNamespacedDeployment({ namespace: home, body: deployment('web', 'nginx:1.27') })

  const more = { spec: { template: { spec: { containers: [{ name: 'more', image: 'busybox' }] } } } }
  const strategic = await apps.patchNamespacedDeployment({ ...place, body: more }, strategicPatch)
  assert.deepEqual(
    strategic.spec?.template.spec?.containers.map(each => each.name),
    ['more', 'main'],
  )
  const replace = [
    { op: 'test', path: '/spec/replicas', value: 2 },
    { op: 'remove', path: '/spec/template/spec/containers/0' },
  ]
  const json = await apps.patchNamespacedDeployment({ ...place, body: replace }, jsonPatch)
  assert.deepEqual(
    json.spec?.template.spec?.containers.map(each => each.name),
    ['main'],
  )
  const merge = await apps.patchNamespacedDeployment(
    { ...place, body: { spec: { replicas: null } } },
    mergePatch,
  )
  assert.equal(merge.spec?.replicas, 1)

  const apply = { ...place, body: deployment('web', 'nginx:1.28'), fieldManager: 'me' }
  const { code, details } = await failure(apps.patchNamespacedDeployment(apply, serverSideApply))
  assert.equal(code, 409)
  assert.deepEqual(
    details?.causes?.map(cause => `${cause.reason} ${cause.field}`),
    [
      'FieldManagerConflict .spec.replicas',
      'FieldManagerConflict .spec.template.spec.containers[name="main"].image',
    ],
  )
  const forced = await apps.patchNamespacedDeployment({ ...apply, force: true }, serverSideApply)
  assert.equal(forced.spec?.template.spec?.containers[0]?.image, 'nginx:1.28')
  assert.equal(forced.spec?.template.spec?.containers[0]?.ports?.length, 1)
  const made = { ...apply, name: 'new', body: deployment('new', 'nginx') }
  assert.ok((await apps.patchNamespacedDeployment(made, serverSideApply)).metadata?.uid)
})

test('pages of a list are consistent during concurrent writes', async () => {
  const home = await namespace('pages')
  const names = Array.from({ length: 25 }, (_, index) => `item-${String(index).padStart(2, '0')}`)
  const labels = { paged: 'yes' }
  await Promise.all(
    names.map(name => {
      return core.createNamespacedConfigMap({ namespace: home, body: { metadata: { name, labels } } })
    }),
  )
  const first = await core.listNamespacedConfigMap({ namespace: home, limit: 10 })
  assert.ok((first.metadata?.remainingItemCount ?? 0) >= 15)
  await core.deleteNamespacedConfigMap({ namespace: home, name: 'item-20' })
  const seen: string[] = []
  const query = { namespace: home, limit: 10, labelSelector: 'paged=yes' }
  let page = await core.listNamespacedConfigMap(query)
  const version = page.metadata?.resourceVersion
  await core.deleteNamespacedConfigMap({ namespace: home, name: 'item-21' })
  for (;;) {
    seen.push(...page.items.map(item => item.metadata?.name ?? ''))
    assert.equal(page.metadata?.resourceVersion, version)
    const token = page.metadata?._continue
    if (!token) break
    page = await core.listNamespacedConfigMap({ ...query, _continue: token })
  }
  assert.deepEqual(
    seen,
    names.filter(name => name !== 'item-20'),
  )
  const odd = await core.listNamespacedConfigMap({ namespace: home, fieldSelector: 'metadata.name=item-03' })
  assert.deepEqual(
    odd.items.map(item => item.metadata?.name),
    ['item-03'],
  )
  await core.deleteCollectionNamespacedConfigMap({ namespace: home, labelSelector: 'paged=yes' })
  assert.deepEqual(
    (await core.listNamespacedConfigMap({ namespace: home, labelSelector: 'paged=yes' })).items,
    [],
  )
})

test('errors carry a Status with reason and message', async () => {
  const missing = await failure(core.readNamespacedPod({ namespace: 'default', name: 'nope' }))
  assert.deepEqual(
    [missing.code, missing.reason, missing.message],
    [404, 'NotFound', 'pods "nope" not found'],
  )
  assert.deepEqual(missing.details, { name: 'nope', kind: 'pods' })
  const twice = await failure(core.createNamespace({ body: { metadata: { name: 'default' } } }))
  assert.deepEqual([twice.code, twice.reason], [409, 'AlreadyExists'])
  const bad = { metadata: { name: 'Bad' }, spec: { containers: [{ name: 'a' }, { name: 'a', image: 'b' }] } }
  const wrong = await failure(core.createNamespacedPod({ namespace: 'default', body: bad }))
  assert.deepEqual([wrong.code, wrong.reason, wrong.details?.kind], [422, 'Invalid', 'Pod'])
  assert.deepEqual(
    wrong.details?.causes?.map(cause => `${cause.reason} ${cause.field}`),
    [
      'FieldValueInvalid metadata.name',
      'FieldValueRequired spec.containers[0].image',
      'FieldValueDuplicate spec.containers[1].name',
    ],
  )
  const options = { namespace: 'default', body: { metadata: { name: 'a' } } }
  const unknown = await failure(core.createNamespacedConfigMap({ ...options, dryRun: 'Some' }))
  assert.deepEqual([unknown.code, unknown.details?.causes?.[0]?.field], [422, 'dryRun'])
  await core.createNamespacedConfigMap({ ...options, dryRun: 'All' })
  assert.equal((await failure(core.readNamespacedConfigMap({ namespace: 'default', name: 'a' }))).code, 404)
  const preconditions = { uid: 'another' }
  const precise = await failure(core.deleteNamespace({ name: 'kube-public', body: { preconditions } }))
  assert.deepEqual([precise.code, precise.reason], [409, 'Conflict'])
})
