import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  HttpClientError,
  readWholeBody,
  type HttpClientRequest,
  type HttpConnect,
} from '#/platform/http-client.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import type { UserInfo } from '../request.ts'
import { readQuestion } from './test-cluster.ts'
import { WebhookAuthorizer, type AuthorizationWebhookSettings } from './webhook-authorizer.ts'

const eve: UserInfo = { username: 'eve', uid: 'u1', groups: ['a', 'b'], extra: { scopes: ['x'] } }
const nothing = (): void => undefined
const silent: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => silent }

type Reply = Error | number | object

/** A webhook with these replies, the last one repeated; its clock advances only during sleeps. */
function service(
  replies: readonly Reply[],
  settings: Partial<AuthorizationWebhookSettings> = {},
): {
  readonly authorizer: WebhookAuthorizer
  readonly asked: unknown[]
  readonly pass: (ms: number) => void
} {
  const asked: unknown[] = []
  let nowMs = 0
  const real = nodePlatform({ log: { level: 'error', format: 'text' } })
  const clock = {
    ...real.clock,
    now: () => nowMs,
    monotonicMs: () => nowMs,
    setTimer: () => ({ cancel: () => undefined }),
    sleep: async (ms: number) => {
      nowMs += ms
    },
  }
  const connectHttp: HttpConnect = () => ({
    request: async ({ body }: HttpClientRequest) => {
      asked.push(JSON.parse(Buffer.from(await readWholeBody(body)).toString()))
      const reply = replies[Math.min(asked.length, replies.length) - 1]!
      if (reply instanceof Error) throw reply
      const [status, value] = typeof reply === 'number' ? [reply, {}] : [200, reply]
      return { status, headers: {}, body: bytesOf(value), discard: nothing }
    },
    upgrade: () => Promise.reject(new Error('upgrade is not supported')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
  const platform = { clock, random: real.random, log: silent }
  const url = 'https://example.com/authorize'
  const authorizer = new WebhookAuthorizer({ platform, connectHttp, url, version: 'v1', ...settings })
  return { authorizer, asked, pass: ms => void (nowMs += ms) }
}

async function* bytesOf(value: object): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(value))
}

const yes = { status: { allowed: true, reason: 'because' } }
const no = { status: { allowed: false } }
const never = { status: { allowed: false, denied: true, reason: 'never' } }

test('the authorization webhook receives a SubjectAccessReview', async () => {
  const { authorizer, asked } = service([yes])
  await authorizer.authorize(readQuestion(eve, 'get pods/log n/web'))
  await authorizer.authorize(readQuestion({ username: 'bob', groups: [] }, 'get /metrics'))
  await authorizer.authorize({
    ...readQuestion(eve, 'list pods'),
    isResource: true,
    fieldSelector: { rawSelector: 'spec.nodeName=n1,metadata.name!=x' },
    labelSelector: { rawSelector: 'a in (b,c),!d,e>1' },
  } as never)
  const review = {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    status: { allowed: false },
  }
  const spec = { user: 'eve', uid: 'u1', groups: ['a', 'b'], extra: { scopes: ['x'] } }
  assert.deepEqual(asked, [
    {
      ...review,
      spec: {
        ...spec,
        resourceAttributes: {
          namespace: 'n',
          verb: 'get',
          version: '*',
          resource: 'pods',
          subresource: 'log',
          name: 'web',
        },
      },
    },
    { ...review, spec: { user: 'bob', nonResourceAttributes: { path: '/metrics', verb: 'get' } } },
    {
      ...review,
      spec: {
        ...spec,
        resourceAttributes: {
          verb: 'list',
          version: '*',
          resource: 'pods',
          fieldSelector: {
            requirements: [
              { key: 'metadata.name', operator: 'NotIn', values: ['x'] },
              { key: 'spec.nodeName', operator: 'In', values: ['n1'] },
            ],
          },
          labelSelector: {
            requirements: [
              { key: 'a', operator: 'In', values: ['b', 'c'] },
              { key: 'd', operator: 'DoesNotExist' },
            ],
          },
        },
      },
    },
  ])
})

test('SubjectAccessReview v1beta1 uses the field group', async () => {
  const { authorizer, asked } = service([yes], { version: 'v1beta1' })
  await authorizer.authorize(readQuestion(eve, 'get /x'))
  const [{ apiVersion, spec }] = asked as [{ apiVersion: string; spec: Record<string, unknown> }]
  assert.equal(apiVersion, 'authorization.k8s.io/v1beta1')
  assert.deepEqual([spec['group'], spec['groups']], [['a', 'b'], undefined])
})

test("the authorization webhook's response decides", async () => {
  const check = async (reply: Reply, expected: object): Promise<void> => {
    assert.deepEqual(await service([reply]).authorizer.authorize(readQuestion(eve, 'get /x')), expected)
  }
  await check(yes, { decision: 'allow', reason: 'because' })
  await check(no, { decision: 'no opinion', reason: '' })
  await check(never, { decision: 'deny', reason: 'never' })
  await check(
    { status: { allowed: true, denied: true } },
    {
      decision: 'deny',
      reason: '',
      error: 'webhook subject access review returned both allow and deny response',
    },
  )
  await check({ status: { allowed: 'yes' } }, { decision: 'no opinion', reason: '' })
  const failed = (message: string): object => {
    return {
      decision: 'no opinion',
      reason: '',
      error: `authorization webhook unavailable: ${message}`,
    }
  }
  await check({}, failed('response is not a SubjectAccessReview'))
  await check([], failed('response is not a SubjectAccessReview'))
  await check(404, failed('unexpected status 404'))
  await check(new HttpClientError('unreachable', 'refused', { sent: false }), failed('refused'))
})

test('allowed and denied responses are cached with separate TTLs', async () => {
  const { authorizer, asked, pass } = service([yes, no, yes], {
    authorizedTtlMs: 1_000,
    unauthorizedTtlMs: 100,
  })
  const ask = async (path: string): Promise<string> => {
    return (await authorizer.authorize(readQuestion(eve, `get ${path}`))).decision
  }
  assert.equal(await ask('/a'), 'allow')
  assert.equal(await ask('/b'), 'no opinion')
  pass(99)
  assert.deepEqual([await ask('/a'), await ask('/b')], ['allow', 'no opinion'])
  assert.equal(asked.length, 2)
  pass(1)
  assert.deepEqual([await ask('/a'), await ask('/b')], ['allow', 'allow'])
  assert.equal(asked.length, 3)
  pass(900)
  await ask('/a')
  assert.equal(asked.length, 4)
})

test('failures and large requests are not cached', async () => {
  const { authorizer, asked } = service([404, yes])
  assert.equal((await authorizer.authorize(readQuestion(eve, 'get /a'))).decision, 'no opinion')
  assert.equal((await authorizer.authorize(readQuestion(eve, 'get /a'))).decision, 'allow')
  const long = `get /${'x'.repeat(10_000)}`
  await authorizer.authorize(readQuestion(eve, long))
  await authorizer.authorize(readQuestion(eve, long))
  assert.equal(asked.length, 4)
})

test('transient failures are retried a bounded number of times, then onFailure decides', async () => {
  const broken = new HttpClientError('interrupted', 'reset', { sent: true })
  const { authorizer, asked } = service([500, 429, broken, yes])
  assert.equal((await authorizer.authorize(readQuestion(eve, 'get /a'))).decision, 'allow')
  assert.equal(asked.length, 4)
  const lost = service([504], { onFailure: 'deny' })
  assert.deepEqual(await lost.authorizer.authorize(readQuestion(eve, 'get /a')), {
    decision: 'deny',
    reason: '',
    error: 'authorization webhook unavailable: unexpected status 504',
  })
  assert.equal(lost.asked.length, 5)
})

test("the webhook authorizer's rules are incomplete", () => {
  const { incomplete, errors } = service([yes]).authorizer.rulesFor()
  assert.deepEqual([incomplete, errors], [true, ['webhook authorizer does not support user rule resolution']])
})
