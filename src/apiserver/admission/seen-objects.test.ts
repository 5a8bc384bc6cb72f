/**
 * Admission plugins see as object exactly what will be stored and as oldObject exactly what is stored, for
 * every way of writing and every type of container or secret reference (CVE-2021-25735, CVE-2023-2727,
 * CVE-2023-2728, CVE-2024-3177).
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { forbidden } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { AdmissionPlugin, AdmissionAttributes } from './admission-chain.ts'
import { imagePolicyWebhook } from './plugins/image-policy-webhook.ts'
import { serviceAccount } from './plugins/service-account.ts'
import { fakeConnect, withKubeconfig } from '../test-webhook-server.ts'
import { startTestServer, type Answer, type TestServer } from '../test-server.ts'
import { outcome, pod, pods } from './testdata/plugin-server.ts'

const nodes = '/api/v1/nodes'

interface Seen {
  readonly phase: 'mutate' | 'validate'
  readonly oldObject: KubernetesObject | undefined
  readonly object: KubernetesObject | undefined
}

/** A plugin that records the objects of writes to nodes. */
function watcher(seen: Seen[]): AdmissionPlugin {
  const note = (phase: Seen['phase'], { resource, oldObject, object }: AdmissionAttributes): void => {
    if (resource.plural === 'nodes') seen.push({ phase, oldObject, object })
  }
  return {
    name: 'Watcher',
    mutate: request => {
      note('mutate', request)
      return request.object
    },
    validate: request => note('validate', request),
  }
}

type Labels = Readonly<Record<string, string>>

function labelsOf(object: KubernetesObject | undefined): Labels {
  return object?.metadata.labels ?? {}
}

const writes: readonly (readonly [string, string, (labels: Labels, stored: Answer) => unknown])[] = [
  ['PUT', '', (labels, { body }) => ({ ...body, metadata: { ...(body['metadata'] as object), labels } })],
  ['PATCH', 'merge-patch+json', labels => ({ metadata: { labels: { ...labels, protected: null } } })],
  [
    'PATCH',
    'strategic-merge-patch+json',
    labels => ({ metadata: { labels: { ...labels, $patch: 'replace' } } }),
  ],
  ['PATCH', 'json-patch+json', labels => [{ op: 'replace', path: '/metadata/labels', value: labels }]],
  [
    'PATCH',
    'apply-patch+yaml',
    labels => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1', labels } }),
  ],
]

test('admission sees the stored node as oldObject and the resulting node as object (CVE-2021-25735)', async t => {
  for (const subresource of ['', '/status']) {
    for (const [method, form, make] of writes) {
      const seen: Seen[] = []
      const { request } = await startTestServer(t, undefined, { admission: () => [watcher(seen)] })
      const labels = { protected: 'yes', other: 'a' }
      assert.equal((await request('POST', nodes, { metadata: { name: 'n1', labels } })).code, 201)
      const stored = await request('GET', `${nodes}/n1`)
      seen.length = 0
      const type = form === '' ? 'application/json' : `application/${form}`
      const url = `${nodes}/n1${subresource}?fieldManager=test${form.startsWith('apply') ? '&force=true' : ''}`
      const changed = await request(method, url, make({ other: 'b' }, stored), { 'content-type': type })
      const what = `${method} ${form} ${subresource}`
      assert.equal(changed.code, 200, `${what}: ${changed.text}`)
      assert.deepEqual([...new Set(seen.map(({ phase }) => phase))], ['mutate', 'validate'], what)
      const now = await request('GET', `${nodes}/n1`)
      for (const { oldObject, object } of seen) {
        assert.deepEqual(oldObject, stored.body, `${what}: what was before is what was stored`)
        assert.deepEqual(
          labelsOf(object),
          labelsOf(now.body as never),
          `${what}: what is seen is what is stored`,
        )
        assert.equal(labelsOf(object)['other'], 'b', what)
      }
    }
  }
})

test('a write that conflicts runs admission again on the current object', async t => {
  let overtake: (() => Promise<unknown>) | undefined
  const decided: string[] = []
  const plugin: AdmissionPlugin = {
    name: 'Protection',
    validate: async ({ resource, oldObject, object, user }) => {
      if (resource.plural !== 'nodes' || oldObject === undefined) return
      const now = overtake
      overtake = undefined
      await now?.()
      decided.push(
        `${user.username}: ${labelsOf(oldObject)['protected'] ?? 'no'} ${labelsOf(object)['other']}`,
      )
      if (labelsOf(oldObject)['protected'] === 'yes' && user.username === 'eve') {
        throw forbidden({ group: '', kind: 'nodes', name: 'n1' }, 'it is protected')
      }
    },
  }
  const { request, as } = await startTestServer(t, undefined, { admission: () => [plugin] })
  await request('POST', nodes, { metadata: { name: 'n1', labels: { other: 'a' } } })
  const merge = { 'content-type': 'application/merge-patch+json' }
  const patch = (labels: Labels) => ({ metadata: { labels } })
  overtake = () => request('PATCH', `${nodes}/n1`, patch({ protected: 'yes' }), merge)
  const eve = as({ username: 'eve', groups: ['system:masters', 'system:authenticated'] })
  const late = await eve('PATCH', `${nodes}/n1`, patch({ other: 'stolen' }), merge)
  assert.deepEqual([late.code, late.body.reason], [403, 'Forbidden'], late.text)
  assert.equal(decided.at(-1), 'eve: yes stolen')
  assert.doesNotMatch((await request('GET', `${nodes}/n1`)).text, /stolen/)
})

const container = (name: string, fields: object = {}): object => ({ name, image: 'good', ...fields })

/** Adds an ephemeral container to an existing pod, as `kubectl debug` does. */
async function addEphemeral({ request }: TestServer, name: string, added: object): Promise<string> {
  const { body } = await request('GET', `${pods}/${name}`)
  const { spec } = body as unknown as { readonly spec: { readonly ephemeralContainers?: object[] } }
  const ephemeralContainers = [...(spec.ephemeralContainers ?? []), added]
  const changed = { ...body, spec: { ...spec, ephemeralContainers } }
  return outcome(await request('PUT', `${pods}/${name}/ephemeralcontainers`, changed))
}

test('ImagePolicyWebhook reviews images of all container types, also on update (CVE-2023-2727)', async t => {
  const connectHttp = fakeConnect(async (_path, review) => {
    return { status: { allowed: !JSON.stringify(review).includes('bad'), reason: 'no bad images' } }
  })
  const configuration = { imagePolicy: { kubeConfigFile: '/policy', defaultAllow: false } }
  const platform = withKubeconfig(nodePlatform({ log: { level: 'error', format: 'text' } }), '/policy')
  const server = await startTestServer(t, platform, {
    admission: context => [imagePolicyWebhook({ ...context, connectHttp }, configuration)],
  })
  const create = async (spec: object): Promise<string> =>
    outcome(await server.request('POST', pods, pod('p', spec)))
  const refused = /^403 .*image policy webhook backend denied one or more images: no bad images$/
  assert.match(await create({ containers: [container('a', { image: 'bad' })] }), refused)
  assert.match(
    await create({ containers: [container('a')], initContainers: [container('i', { image: 'bad' })] }),
    refused,
  )
  assert.equal(await create({ containers: [container('a')], initContainers: [container('i')] }), 'ok')
  assert.match(await addEphemeral(server, 'p', container('d', { image: 'bad' })), refused)
  assert.equal(await addEphemeral(server, 'p', container('d')), 'ok')
  assert.match(await addEphemeral(server, 'p', container('e', { image: 'bad' })), refused)
  const change = { spec: { containers: [container('a', { image: 'bad' })] } }
  const strategic = { 'content-type': 'application/strategic-merge-patch+json' }
  assert.match(outcome(await server.request('PATCH', `${pods}/p`, change, strategic)), refused)
})

/** Ways for a container to reference a secret. */
const uses: Readonly<Record<string, (name: string) => object>> = {
  'env': name => ({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'content' } } }] }),
  'envFrom': name => ({ envFrom: [{ secretRef: { name } }] }),
  'envFrom after another': name => ({ envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name } }] }),
}

async function withLimitedAccount(t: TestContext): Promise<TestServer> {
  const server = await startTestServer(t, undefined, { admission: context => [serviceAccount(context)] })
  const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' }
  const inDefault = '/api/v1/namespaces/default'
  const made = [
    [
      `${inDefault}/serviceaccounts`,
      { metadata: { name: 'limited', annotations }, secrets: [{ name: 'listed' }] },
    ],
    [`${inDefault}/secrets`, { metadata: { name: 'listed' } }],
    [`${inDefault}/secrets`, { metadata: { name: 'hidden' } }],
  ] as const
  for (const [url, object] of made) assert.equal((await server.request('POST', url, object)).code, 201)
  // A consistent read waits until the cache contains all previous writes.
  await server.request('GET', `${inDefault}/serviceaccounts`)
  return server
}

test('mountable secrets are enforced for all container types (CVE-2023-2728, CVE-2024-3177)', async t => {
  const server = await withLimitedAccount(t)
  let pieces = 0
  const create = async (spec: object): Promise<string> => {
    const limited = { serviceAccountName: 'limited', automountServiceAccountToken: false }
    return outcome(await server.request('POST', pods, pod(`p${pieces++}`, { ...limited, ...spec })))
  }
  const refused = /^403 .*does not reference that secret$/
  assert.equal(await create({ containers: [container('a')] }), 'ok')
  for (const [how, use] of Object.entries(uses)) {
    const wrong = container('x', use('hidden'))
    const right = container('x', use('listed'))
    assert.match(await create({ containers: [wrong] }), refused, how)
    assert.match(await create({ containers: [container('a'), wrong] }), refused, how)
    assert.match(await create({ containers: [container('a')], initContainers: [wrong] }), refused, how)
    assert.match(await addEphemeral(server, 'p0', container(`x${pieces}`, use('hidden'))), refused, how)
    assert.equal(
      await create({ containers: [right], initContainers: [container('i', use('listed'))] }),
      'ok',
      how,
    )
    assert.equal(await addEphemeral(server, 'p0', container(`y${pieces}`, use('listed'))), 'ok', how)
  }
  const volumes = (name: string) => [{ name: 'v', secret: { secretName: name } }]
  assert.match(await create({ containers: [container('a')], volumes: volumes('hidden') }), refused)
  assert.equal(await create({ containers: [container('a')], volumes: volumes('listed') }), 'ok')
  assert.match(
    await create({ containers: [container('a')], imagePullSecrets: [{ name: 'hidden' }] }),
    /^403 .*does not reference that imagePullSecret$/,
  )
})
