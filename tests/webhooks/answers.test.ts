/** Webhook responses, and their effect on the write. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  configMap,
  configMaps,
  hurried,
  patchWith,
  reviewOf,
  rule,
  send,
  startWorld,
  type Answer,
  type Review,
  type World,
} from './webhook-server.ts'

const denied = 'admission webhook "a.example.com" denied the request'
const failed = 'Internal error occurred: failed calling webhook "a.example.com": '
const invalid = `500 ${failed}received invalid webhook response: `

/** Creates a config map: returns `ok`, or the code and message of the error. */
async function create({ request }: World, name: string, query = ''): Promise<string> {
  const { code, body } = await request('POST', `${configMaps}${query}`, configMap(name, { x: 'y' }))
  return code < 300 ? 'ok' : `${code} ${body.message ?? ''}`
}

type Case = readonly [what: string, answer: (review: Review) => Answer, expected: string | RegExp]

/** Checks each response with the same webhook configuration. */
async function checkAll(
  t: TestContext,
  kind: 'mutating' | 'validating',
  cases: readonly Case[],
): Promise<void> {
  const world = await startWorld(t)
  await world.configure(kind, 'test', {})
  let count = 0
  for (const [what, answer, expected] of cases) {
    world.answers.set('', answer)
    const outcome = await create(world, `m${count++}`)
    if (typeof expected === 'string') assert.equal(outcome, expected, what)
    else assert.match(outcome, expected, what)
  }
}

const status =
  (fields: object): (() => Answer) =>
  () => ({ allowed: false, status: fields })

/** A response with invalid fields. */
const review = (change: (review: Review) => object): ((review: Review) => Answer) => {
  return asked => response => send(response, change(asked))
}

const raw =
  (text: string, code = 200): (() => Answer) =>
  () =>
  response =>
    send(response, text, code)

const both: readonly Case[] = [
  ['allowed', () => ({ allowed: true }), 'ok'],
  ['refused', () => ({ allowed: false }), `400 ${denied} without explanation`],
  ['with a message', status({ message: 'no' }), `400 ${denied}: no`],
  ['with a reason', status({ reason: 'Because' }), `400 ${denied}: Because`],
  ['with a code', status({ message: 'no', code: 418 }), `418 ${denied}: no`],
  ['with a code of success', status({ code: 200, status: 'Success' }), `400 ${denied} without explanation`],
  ['with a code that is none', status({ code: 70_000 }), `500 ${denied} without explanation`],
  [
    'the uid of another question',
    () => ({ uid: 'x', allowed: true }),
    /^500 .*received invalid webhook response: expected response\.uid="[-0-9a-f]{36}", got "x"$/u,
  ],
  ['no answer', review(reviewOf), `${invalid}webhook response was absent`],
  [
    'another version',
    review(({ request: { uid } }) => ({
      kind: 'AdmissionReview',
      apiVersion: 'admission.k8s.io/v1beta1',
      response: { uid, allowed: true },
    })),
    `${invalid}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, ` +
      'got admission.k8s.io/v1beta1, Kind=AdmissionReview',
  ],
  [
    'no kind',
    review(({ request: { uid } }) => ({ response: { uid, allowed: true } })),
    `${invalid}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=`,
  ],
  [
    'not JSON',
    raw('<html>'),
    /^500 .*failed to call webhook: couldn't get version\/kind; json parse error: /u,
  ],
  [
    'nothing',
    raw(''),
    `500 ${failed}failed to call webhook: 0-length response with status code: 200 and content type: application/json`,
  ],
  ['a list', raw('[]'), /^500 .*failed to call webhook: /u],
  ['a number', raw('1e999'), /^500 .*failed to call webhook: /u],
  ['a wrong type', () => ({ allowed: 'yes' }), /^500 .*failed to call webhook: .*allowed/u],
  [
    'hostile keys',
    raw('{"__proto__":{"response":{"allowed":true}},"constructor":1}'),
    `${invalid}webhook response was absent`,
  ],
  ['great depth', raw('['.repeat(100_000)), /^500 .*failed to call webhook: /u],
  [
    'not found',
    raw('', 404),
    `500 ${failed}failed to call webhook: the server could not find the requested resource`,
  ],
  [
    'an error with a status',
    raw('{"kind":"Status","message":"I am tired"}', 500),
    `500 ${failed}failed to call webhook: I am tired`,
  ],
  [
    'an error with a page',
    () => response => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>\n'),
    `500 ${failed}failed to call webhook: an error on the server ("<h1>Bad</h1>") ` +
      'has prevented the request from succeeding',
  ],
  [
    'hanging up',
    () => response => response.destroy(),
    /^500 .*failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/\?timeout=10s": /u,
  ],
  [
    'half an answer',
    () => response => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{', () => response.destroy())
    },
    /^500 .*failed to call webhook: /u,
  ],
  [
    'an answer without end',
    () => response => {
      const piece = Buffer.alloc(1024 * 1024, ' ')
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) continue
      }
      response.on('drain', more)
      more()
    },
    /^500 .*response exceeds 8388608 bytes$/u,
  ],
]

test('validating webhooks allow or deny; other responses are errors', t =>
  checkAll(t, 'validating', [
    ...both,
    [
      'a patch',
      () => patchWith({ op: 'add', path: '/data/a', value: 'b' }),
      `${invalid}validating webhook may not return response.patch`,
    ],
    [
      'a patch type',
      () => ({ allowed: true, patchType: 'JSONPatch' }),
      `${invalid}validating webhook may not return response.patchType`,
    ],
  ]))

test('mutating webhooks must return a valid patch', t =>
  checkAll(t, 'mutating', [
    ...both,
    ['an empty patch', () => patchWith(), 'ok'],
    [
      'a patch without type',
      () => ({ allowed: true, patch: 'W10=' }),
      `${invalid}webhook returned response.patch but not response.patchType`,
    ],
    [
      'a type without patch',
      () => ({ allowed: true, patchType: 'JSONPatch' }),
      `${invalid}webhook returned response.patchType but not response.patch`,
    ],
    [
      'an unknown type',
      () => ({ ...patchWith({}), patchType: 'Magic' }),
      `500 ${failed}unsupported patch type "Magic"`,
    ],
    [
      'not base64',
      () => ({ allowed: true, patchType: 'JSONPatch', patch: '%%%' }),
      /^500 .*failed to call webhook: illegal base64 data/u,
    ],
    [
      'not JSON',
      () => ({ allowed: true, patchType: 'JSONPatch', patch: 'e30e' }),
      /^500 .*received undecodable patch in webhook response: /u,
    ],
    [
      'not a list',
      () => ({ allowed: true, patchType: 'JSONPatch', patch: 'e30=' }),
      /^500 .*received undecodable patch in webhook response: /u,
    ],
    [
      'a path that is not there',
      () => patchWith({ op: 'remove', path: '/spec/x' }),
      /^500 Internal error occurred: /u,
    ],
    [
      'an operation that is none',
      () => patchWith({ op: 'explode', path: '/data' }),
      /^500 Internal error occurred: /u,
    ],
    [
      'a wrong type',
      () => patchWith({ op: 'add', path: '/data', value: 7 }),
      /^500 Internal error occurred: .*data/u,
    ],
    [
      'another kind',
      () => patchWith({ op: 'add', path: '/kind', value: 'Secret' }),
      /^500 Internal error occurred: patch must not change kind or apiVersion: expected/u,
    ],
    [
      'another namespace',
      () => patchWith({ op: 'add', path: '/metadata/namespace', value: 'kube-system' }),
      /^400 the namespace of the provided object does not match/u,
    ],
    [
      'an invalid object',
      () => patchWith({ op: 'add', path: '/metadata/labels', value: { '-': '' } }),
      /^422 .*metadata\.labels/u,
    ],
    ['a prototype', () => patchWith({ op: 'add', path: '/data/__proto__', value: 'x' }), 'ok'],
    ['an unknown field', () => patchWith({ op: 'add', path: '/what', value: 'x' }), 'ok'],
    [
      'a patch of a refusal',
      () => ({ ...patchWith({ op: 'add', path: '/x', value: 1 }), allowed: false }),
      `400 ${denied} without explanation`,
    ],
  ]))

test('AdmissionReview v1beta1 responses are checked less strictly', async t => {
  const world = await startWorld(t)
  await world.configure('mutating', 'test', { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] })
  world.answers.set('', () => ({
    uid: 'odd',
    allowed: true,
    patch: patchOf({ op: 'add', path: '/data/a', value: 'b' }),
  }))
  const { body } = await world.request('POST', configMaps, configMap('m', { x: 'y' }))
  assert.deepEqual(body['data'], { x: 'y', a: 'b' })
  assert.equal(world.hook.asked[0]!.apiVersion, 'admission.k8s.io/v1beta1')
})

function patchOf(...operations: readonly object[]): string {
  return Buffer.from(JSON.stringify(operations)).toString('base64')
}

test('a denial has the status and details of the webhook', async t => {
  const world = await startWorld(t)
  await world.configure('validating', 'test', {})
  const details = {
    name: 'm',
    causes: [{ reason: 'FieldValueInvalid', field: 'data', message: 'empty' }],
    retryAfterSeconds: 7,
  }
  world.answers.set('', () => ({
    allowed: false,
    status: { reason: 'Expired', code: 410, details, metadata: { continue: 'x' }, message: 'gone' },
  }))
  const { code, body, headers } = await world.request('POST', configMaps, configMap('m'))
  assert.deepEqual(
    [code, body.reason, body.details, body.message, body.status],
    [410, 'Expired', details, `${denied}: gone`, 'Failure'],
  )
  assert.equal(headers?.['retry-after'], '7')
})

test('failurePolicy and timeoutSeconds apply when a webhook does not respond', async t => {
  const world = await startWorld(t, { platform: hurried() })
  world.answers.set('slow', () => () => undefined)
  const hook = (path: string, fields: object): object => ({
    clientConfig: world.hook.clientConfig(path),
    ...fields,
  })
  const check = async (webhook: object, expected: string | RegExp): Promise<void> => {
    await world.configure('validating', 'test', webhook)
    const outcome = await create(world, 'm', '?dryRun=All')
    await world.request(
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/test',
    )
    await world.request('GET', configMaps)
    if (typeof expected === 'string') assert.equal(outcome, expected)
    else assert.match(outcome, expected)
  }
  const slow = { timeoutSeconds: 1 }
  await check(
    hook('slow', slow),
    /^500 .*Post "https:\/\/127\.0\.0\.1:\d+\/slow\?timeout=1s": context deadline exceeded$/u,
  )
  await check(hook('slow', { ...slow, failurePolicy: 'Ignore' }), 'ok')
  const { caBundle } = world.hook.clientConfig()
  const nobody = { url: 'https://127.0.0.1:1/', caBundle }
  await check(
    { clientConfig: nobody },
    `500 ${failed}failed to call webhook: Post "https://127.0.0.1:1/?timeout=10s": ` +
      'dial tcp 127.0.0.1:1: connect: connection refused',
  )
  await check({ clientConfig: nobody, failurePolicy: 'Ignore' }, 'ok')
  const { url } = world.hook.clientConfig()
  await check(
    { clientConfig: { url } },
    /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/u,
  )
  await check(
    { clientConfig: { url: url.replace('127.0.0.1', '127.0.0.2'), caBundle } },
    /connection refused|x509: /u,
  )
  const service = { namespace: 'default', name: 'nowhere' }
  await check(
    { clientConfig: { service, caBundle } },
    `500 ${failed}failed to call webhook: Post "https://nowhere.default.svc:443/?timeout=10s": ` +
      'service "nowhere" not found',
  )
})

test('warnings of webhooks go to the client, audit annotations to the audit log', async t => {
  for (const auditLevel of ['Metadata', 'Request'] as const) {
    const world = await startWorld(t, { auditLevel })
    // Audit events of config maps never contain the body.
    const rules = [rule('serviceaccounts', ['CREATE'])]
    const nobody = { rules, failurePolicy: 'Ignore', clientConfig: { url: 'https://127.0.0.1:1/' } }
    await world.configure('mutating', 'first', { rules }, { ...nobody, name: 'b.example.com' })
    await world.configure(
      'validating',
      'second',
      { rules, clientConfig: world.hook.clientConfig('look') },
      { ...nobody, name: 'c.example.com' },
    )
    const operation = { op: 'add', path: '/metadata/labels', value: { a: 'b' } }
    world.answers.set('', () => ({
      ...patchWith(operation),
      auditAnnotations: { seen: 'yes' },
      warnings: ['careful', 'x'.repeat(1_000)],
    }))
    world.answers.set('look', () => ({ allowed: true, auditAnnotations: { also: 'yes' } }))
    const { headers } = await world.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      metadata: { name: 'm' },
    })
    const { warning = [] } = headers ?? {}
    assert.deepEqual([warning].flat()[0], '299 - "careful"')
    assert.equal([warning].flat()[1]!.length, '299 - ""'.length + 256)
    const { annotations = {} } = world.audited.at(-1)!
    const {
      'authorization.k8s.io/decision': _,
      'authorization.k8s.io/reason': __,
      ...others
    } = annotations as Record<string, unknown>
    const source = { configuration: 'first', webhook: 'a.example.com' }
    assert.deepEqual(others, {
      'a.example.com/seen': 'yes',
      'a.example.com/also': 'yes',
      'mutation.webhook.admission.k8s.io/round_0_index_0': JSON.stringify({ ...source, mutated: true }),
      'mutation.webhook.admission.k8s.io/round_0_index_1': JSON.stringify({
        ...source,
        webhook: 'b.example.com',
        mutated: false,
      }),
      'failed-open.mutation.webhook.admission.k8s.io/round_0_index_1': 'b.example.com',
      'failed-open.validating.webhook.admission.k8s.io/round_0_index_1': 'c.example.com',
      ...(auditLevel === 'Request' && {
        'patch.webhook.admission.k8s.io/round_0_index_0': JSON.stringify({
          ...source,
          patch: [operation],
          patchType: 'JSONPatch',
        }),
      }),
    })
  }
})

test('metrics count webhook calls', async t => {
  const world = await startWorld(t)
  await world.configure('mutating', 'one', {
    name: 'open.example.com',
    failurePolicy: 'Ignore',
    clientConfig: { url: 'https://127.0.0.1:1/' },
  })
  await world.configure('validating', 'two', {
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
  })
  await create(world, 'm')
  world.answers.set('', () => ({ allowed: false, status: { code: 409 } }))
  await create(world, 'n')
  const lines = world.metrics.registry.render().split('\n')
  const shown = (name: string): readonly string[] =>
    lines
      .filter(line => line.startsWith(`apiserver_admission_webhook_${name}`))
      .map(line => line.replace('apiserver_admission_webhook_', ''))
  assert.deepEqual(shown('request_total'), [
    'request_total{code="503",name="open.example.com",operation="CREATE",rejected="false",type="admit"} 2',
    'request_total{code="200",name="a.example.com",operation="CREATE",rejected="false",type="validating"} 1',
    'request_total{code="409",name="a.example.com",operation="CREATE",rejected="true",type="validating"} 1',
  ])
  assert.deepEqual(shown('rejection_count'), [
    'rejection_count{error_type="no_error",name="a.example.com",operation="CREATE",rejection_code="409",' +
      'type="validating"} 1',
  ])
  assert.deepEqual(shown('fail_open_count'), ['fail_open_count{name="open.example.com",type="admit"} 2'])
  assert.equal(shown('admission_duration_seconds_count').length, 3)
})
