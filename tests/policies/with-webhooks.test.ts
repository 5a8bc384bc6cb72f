/** Policies and webhooks in one request: order, reinvocation and audit annotations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configMap, configMaps, patchWith, startWorld, type World } from '../webhooks/webhook-server.ts'

const group = '/apis/admissionregistration.k8s.io/v1'

async function enforce(
  { request }: World,
  kind: 'mutating' | 'validating',
  spec: object,
  binding: object = {},
): Promise<void> {
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
  ]
  const metadata = { name: 'p' }
  for (const [url, object] of [
    [
      `${group}/${kind}admissionpolicies`,
      { metadata, spec: { matchConstraints: { resourceRules }, ...spec } },
    ],
    [`${group}/${kind}admissionpolicybindings`, { metadata, spec: { policyName: 'p', ...binding } }],
  ] as const) {
    const { code, text } = await request('POST', url, object)
    assert.equal(code, 201, text)
  }
  await request('GET', '/api/v1/namespaces')
}

async function made({ request }: World): Promise<unknown> {
  const { code, body, text } = await request('POST', configMaps, configMap('m', { a: 'b' }))
  assert.equal(code, 201, text)
  return body['data']
}

test('policies run before webhooks, and again after webhooks have mutated', async t => {
  for (const [reinvocationPolicy, seen] of [
    ['Never', 'no'],
    ['IfNeeded', 'yes'],
  ] as const) {
    const world = await startWorld(t)
    const expression = "Object{data: {'seen': 'hook' in object.data ? 'yes' : 'no'}}"
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }]
    await enforce(world, 'mutating', { reinvocationPolicy, mutations })
    world.answers.set('', () => patchWith({ op: 'add', path: '/data/hook', value: 'x' }))
    await world.configure('mutating', 'c', {})
    assert.deepEqual(await made(world), { a: 'b', hook: 'x', seen })
    const [asked] = world.hook.asked
    const sent = asked?.request['object']?.['data'] as unknown
    assert.deepEqual(sent, { a: 'b', seen: 'no' })
  }
})

test('violations of a validating policy with action Audit are in the audit log', async t => {
  const world = await startWorld(t)
  await enforce(
    world,
    'validating',
    {
      validations: [{ expression: 'false', message: 'no' }],
      auditAnnotations: [{ key: 'who', valueExpression: 'request.userInfo.username' }],
    },
    { validationActions: ['Audit'] },
  )
  await made(world)
  const line = world.audited.find(({ annotations }) => annotations && 'p/who' in annotations)
  const annotations = line?.['annotations'] as unknown as Record<string, string>
  assert.equal(annotations['p/who'], 'kubernetes-admin')
  assert.deepEqual(JSON.parse(annotations['validation.policy.admission.k8s.io/validation_failure'] ?? ''), [
    { message: 'no', policy: 'p', binding: 'p', expressionIndex: 0, validationActions: ['Audit'] },
  ])
})
