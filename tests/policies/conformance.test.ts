/** Kubernetes' conformance requirements for admission policies. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { readAdmission } from '#/apiserver/admission.ts'
import { part, startTestServer, type AnyObject, type TestServer } from '#/apiserver/test-server.ts'
import { nodePlatform } from '#/platform/node.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const deployments = '/apis/apps/v1/namespaces/marked/deployments'
const merge = { 'content-type': 'application/merge-patch+json' }

/** A server with the default admission plugins, and a namespace for the policies. */
async function start(t: TestContext): Promise<TestServer> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const server = await startTestServer(t, platform, {
    admission: await readAdmission(platform.files, { disable: ['ServiceAccount'] }),
  })
  for (const [name, labels] of [
    ['marked', { marked: 'true' }],
    ['other', {}],
  ] as const) {
    await create(server, '/api/v1/namespaces', { metadata: { name, labels } })
  }
  return server
}

async function create({ request }: TestServer, url: string, object: object): Promise<AnyObject> {
  const { code, body, text } = await request('POST', url, object)
  assert.equal(code, 201, text)
  await request('GET', '/api/v1/namespaces')
  return body
}

const deploymentRule = { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }
const matchConstraints = { resourceRules: [{ ...deploymentRule, operations: ['CREATE'] }] }

async function enforce(server: TestServer, kind: 'mutating' | 'validating', spec: object): Promise<void> {
  const metadata = { name: 'p.example.com' }
  await create(server, `${group}/${kind}admissionpolicies`, { metadata, spec: { matchConstraints, ...spec } })
  await create(server, `${group}/${kind}admissionpolicybindings`, {
    metadata: { name: 'b.example.com' },
    spec: {
      policyName: 'p.example.com',
      matchResources: { namespaceSelector: { matchLabels: { marked: 'true' } } },
      ...(kind === 'validating' && { validationActions: ['Deny'] }),
    },
  })
}

function workload(name: string, replicas: number): object {
  const labels = { app: 'nginx' }
  const containers = [{ name: 'nginx', image: 'nginx:latest' }]
  return {
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  }
}

test('ValidatingAdmissionPolicy should validate against a Deployment', async t => {
  const server = await start(t)
  const { request } = server
  await enforce(server, 'validating', {
    validations: [
      {
        expression: 'object.spec.replicas > 1',
        messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
      },
      {
        expression: "namespaceObject.metadata.name == 'marked'",
        message: 'Internal error! Other namespace should not be allowed.',
      },
    ],
  })
  const denied = await request('POST', deployments, workload('marker', 1))
  assert.equal(denied.code, 422)
  assert.equal(denied.body.reason, 'Invalid')
  assert.equal(
    denied.body.message,
    'deployments.apps "marker" is forbidden: ValidatingAdmissionPolicy \'p.example.com\' ' +
      "with binding 'b.example.com' denied request: failed expression: object.spec.replicas > 1",
  )
  await create(server, deployments, workload('replicated', 2))
  await create(server, '/apis/apps/v1/namespaces/marked/replicasets', workload('one', 1))
  await create(server, '/apis/apps/v1/namespaces/other/deployments', workload('elsewhere', 1))
})

test('ValidatingAdmissionPolicy should allow expressions to refer variables', async t => {
  const server = await start(t)
  await enforce(server, 'validating', {
    variables: [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'oddReplicas', expression: 'variables.replicas % 2 == 1' },
    ],
    validations: [{ expression: 'variables.replicas > 1' }, { expression: 'variables.oddReplicas' }],
  })
  for (const replicas of [1, 2]) {
    assert.equal((await server.request('POST', deployments, workload('marker', replicas))).code, 422)
  }
  await create(server, deployments, workload('replicated', 3))
  await create(server, '/apis/apps/v1/namespaces/marked/replicasets', workload('one', 1))
})

test('MutatingAdmissionPolicy should mutate a Deployment, and one with annotations', async t => {
  const server = await start(t)
  const apply = (expression: string): object => ({
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression },
  })
  await enforce(server, 'mutating', {
    reinvocationPolicy: 'Never',
    mutations: [
      apply('Object{spec: Object.spec{replicas: 1337}}'),
      apply(`
        Object{
          metadata: Object.metadata{
            annotations: {
              "mutated-by": "admission-policy"
            }
          }
        }`),
    ],
  })
  const made = await create(server, deployments, workload('marker', 1))
  assert.equal(Number(part(part(made, 'spec'), 'replicas')), 1337)
  assert.deepEqual(part(part(made, 'metadata'), 'annotations'), { 'mutated-by': 'admission-policy' })
  const other = await create(server, '/apis/apps/v1/namespaces/other/deployments', workload('marker', 1))
  assert.equal(Number(part(part(other, 'spec'), 'replicas')), 1)
})

const validations = [{ expression: 'object.spec.replicas <= 100' }]
const mutations = [
  {
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: 100}}' },
  },
]
const reinvocationPolicy = 'Never'

const kinds: readonly { readonly plural: string; readonly spec: object; readonly patch: object }[] = [
  {
    plural: 'validatingadmissionpolicies',
    spec: { matchConstraints, validations },
    patch: { failurePolicy: 'Ignore' },
  },
  {
    plural: 'validatingadmissionpolicybindings',
    spec: { policyName: 'p', validationActions: ['Deny'] },
    patch: { validationActions: ['Warn'] },
  },
  {
    plural: 'mutatingadmissionpolicies',
    spec: { matchConstraints, mutations, reinvocationPolicy },
    patch: { reinvocationPolicy: 'IfNeeded' },
  },
  { plural: 'mutatingadmissionpolicybindings', spec: { policyName: 'p' }, patch: { policyName: 'q' } },
]

for (const { plural, spec, patch } of kinds) {
  test(`should support API operations of ${plural}`, async t => {
    const server = await start(t)
    const { request, watch } = server
    const names = (body: AnyObject): readonly string[] =>
      (body['resources'] as unknown as readonly { name: string }[]).map(({ name }) => name)
    assert.ok(names((await request('GET', group)).body).includes(plural))
    const url = `${group}/${plural}`
    const template = { metadata: { generateName: 'e2e-', labels: { mine: 'yes' } }, spec }
    await create(server, url, template)
    await create(server, url, template)
    const made = await create(server, url, template)
    const { name, uid, resourceVersion } = part(made, 'metadata') as unknown as Record<string, string>
    const read = await request('GET', `${url}/${name}`)
    assert.deepEqual(part(part(read.body, 'metadata'), 'uid'), uid)
    const listed = await request('GET', `${url}?labelSelector=mine=yes`)
    assert.equal((listed.body['items'] as unknown as readonly object[]).length, 3)
    const patched = await request(
      'PATCH',
      `${url}/${name}`,
      { metadata: { annotations: { patched: 'true' } }, spec: patch },
      merge,
    )
    assert.equal(patched.code, 200, patched.text)
    assert.deepEqual({ ...part(patched.body, 'spec'), ...patch }, part(patched.body, 'spec'))
    const metadata = part(patched.body, 'metadata') as unknown as Record<string, object>
    const updated = await request('PUT', `${url}/${name}`, {
      ...patched.body,
      metadata: { ...metadata, annotations: { ...metadata['annotations'], updated: 'true' } },
    })
    assert.equal(updated.code, 200, updated.text)
    const events = await watch(`${url}?watch=1&labelSelector=mine=yes&resourceVersion=${resourceVersion}`, 2)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['MODIFIED', 'MODIFIED'],
    )
    assert.equal((await request('DELETE', `${url}/${name}`)).code, 200)
    assert.equal((await request('GET', `${url}/${name}`)).code, 404)
    assert.equal((await request('DELETE', `${url}?labelSelector=mine=yes`)).code, 200)
    const left = await request('GET', `${url}?labelSelector=mine=yes`)
    assert.deepEqual(left.body['items'], [])
  })
}

test('the status of a validating policy is a subresource', async t => {
  const server = await start(t)
  const { request } = server
  await create(server, `${group}/validatingadmissionpolicies`, {
    metadata: { name: 'p' },
    spec: { matchConstraints, validations },
  })
  const url = `${group}/validatingadmissionpolicies/p/status`
  const condition = {
    type: 'PatchStatusFailed',
    status: 'False',
    reason: 'e2e',
    message: 'Set from a test',
    lastTransitionTime: '2024-01-01T00:00:00Z',
  }
  const patched = await request('PATCH', url, { status: { conditions: [condition] } }, merge)
  assert.equal(patched.code, 200, patched.text)
  const { body } = await request('GET', url)
  assert.deepEqual(part(part(body, 'status'), 'conditions'), [condition])
})
