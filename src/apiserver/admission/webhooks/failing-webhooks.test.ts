import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { mutatingAdmissionWebhook } from '../plugins/mutating-admission-webhook.ts'
import { fakeConnect } from '../../test-webhook-server.ts'
import { configMap, outcome, startWith } from '../testdata/plugin-server.ts'

test('repeated webhook failures are logged as throttled warnings', async t => {
  const check = async (
    answer: Answer,
    {
      failurePolicy,
      outcome: expectedOutcome,
    }: { readonly failurePolicy: 'Fail' | 'Ignore'; readonly outcome: RegExp },
    expected: RegExp,
  ): Promise<void> => {
    const lines: string[] = []
    const at =
      (level: string): Log['warn'] =>
      (message, { error, webhook, configuration } = {}) => {
        assert.deepEqual([webhook, configuration], ['a.example.com', 'c'], message)
        lines.push(`${level} ${message}: ${String(error)}`)
      }
    const log: Log = {
      debug: () => {},
      info: () => {},
      warn: at('warn'),
      error: at('error'),
      with: () => log,
    }
    const { clock, ...rest } = nodePlatform({ log: { level: 'error', format: 'text' } })
    const platform = { ...rest, clock: { ...clock, monotonicMs: () => 0 }, log }
    const connectHttp = fakeConnect(async (_, question) => answer(question as unknown as Review))
    const context = { connectHttp }
    const { given, create } = await startWith(t, mutatingAdmissionWebhook, { platform, context })
    await given(configurations, configuration(failurePolicy))
    for (let count = 0; count < 20; count++) {
      assert.match(
        await create('/api/v1/namespaces/default/configmaps', configMap(`m${count}`)),
        expectedOutcome,
      )
    }
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0]!, expected)
  }
  const closed = {
    failurePolicy: 'Fail',
    outcome: /^500 Internal error occurred: failed calling webhook /,
  } as const
  const open = { failurePolicy: 'Ignore', outcome: /^ok$/ } as const
  const refused: Answer = () => Promise.reject(new Error('connect: connection refused'))
  await check(refused, closed, /^warn Failed calling webhook, failing closed: .*connection refused$/)
  await check(refused, open, /^warn Failed calling webhook, failing open: .*connection refused$/)
  let answers = 0
  const rubbish: Answer = async () => ['rubbish', answers++]
  await check(rubbish, closed, /^warn Failed calling webhook, failing closed: failed to call webhook: /)
  const unrelated: Answer = async ({ request: { uid } }) => reviewed({ uid: `not ${uid}`, allowed: true })
  await check(unrelated, closed, /^warn Failed calling webhook, failing closed: .*expected response\.uid=/)
  const patch = Buffer.from('[{"op":"remove","path":"/nowhere"}]').toString('base64')
  const senseless: Answer = async ({ request: { uid } }) =>
    reviewed({ uid, allowed: true, patch, patchType: 'JSONPatch' })
  const internal = /^500 Internal error occurred: /
  await check(
    senseless,
    { failurePolicy: 'Ignore', outcome: internal },
    /^warn Failed applying the patch of a webhook: /,
  )
})

test('a mutating webhook is called for a deletion and can refuse it', async t => {
  const operations: string[] = []
  const connectHttp = fakeConnect(async (_, question) => {
    const { uid, operation } = (question as unknown as Review).request
    operations.push(operation)
    return reviewed({ uid, allowed: operation !== 'DELETE' })
  })
  const { given, create, request } = await startWith(t, mutatingAdmissionWebhook, {
    context: { connectHttp },
  })
  await given(configurations, configuration('Fail'))
  const maps = '/api/v1/namespaces/default/configmaps'
  assert.equal(await create(maps, configMap('m')), 'ok')
  assert.match(outcome(await request('DELETE', `${maps}/m`)), /^400 admission webhook "a.example.com" denied/)
  assert.deepEqual(operations, ['CREATE', 'DELETE'])
  assert.equal((await request('GET', `${maps}/m`)).code, 200)
})

type Answer = (review: Review) => Promise<JsonValue>

interface Review {
  readonly request: { readonly uid: string; readonly operation: string }
}

function reviewed(response: JsonValue): JsonValue {
  return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response }
}

const configurations = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'

function configuration(failurePolicy: string): object {
  const webhook = {
    name: 'a.example.com',
    clientConfig: { url: 'https://example.com' },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    failurePolicy,
  }
  return { metadata: { name: 'c' }, webhooks: [webhook] }
}
