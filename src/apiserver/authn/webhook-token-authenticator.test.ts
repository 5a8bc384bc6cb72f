import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { BearerToken } from './bearer-token.ts'
import { remoteServer, type RemoteAnswer } from './testdata/remote-server.ts'
import { WebhookTokenAuthenticator, type TokenWebhookSettings } from './webhook-token-authenticator.ts'

const machine = nodePlatform({ log: { level: 'error', format: 'text' } })

function start(answer: (tries: number) => RemoteAnswer, settings: Partial<TokenWebhookSettings> = {}) {
  const time = { ms: 0 }
  const clock = {
    ...machine.clock,
    monotonicMs: () => time.ms,
    sleep: async (delayMs: number) => {
      time.ms += delayMs
    },
  }
  const logged: unknown[] = []
  const log = { ...machine.log, error: (...line: unknown[]) => void logged.push(line) }
  const server = remoteServer(() => answer(server.requests.length))
  const webhook = new WebhookTokenAuthenticator({
    url: 'https://hooks.example.com/authenticate?a=b',
    platform: { clock, log, random: machine.random },
    connectHttp: server.connect,
    audiences: ['server'],
    ...settings,
  })
  const who = async (token: string, audiences: readonly string[] = ['server']): Promise<unknown> => {
    const result = await webhook.authenticate(new BearerToken(token), audiences)
    return result && ('user' in result ? result.user : result.failure)
  }
  return { who, time, logged, requests: server.requests, webhook }
}

function review(status: object): object {
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status }
}

const user = { username: 'alice', uid: '1', groups: ['dev'], extra: { k: ['v'] } }
const alice = { ...user, groups: ['dev', 'system:authenticated'] }

test('the token webhook receives a TokenReview', async () => {
  const { who, requests } = start(() => review({ authenticated: true, user }), {
    headers: { authorization: 'Bearer own' },
  })
  assert.deepEqual(await who('secret'), alice)
  const [{ url, method, headers, body } = assert.fail()] = requests
  assert.deepEqual([url, method], ['https://hooks.example.com/authenticate?a=b', 'POST'])
  assert.deepEqual(headers, {
    'accept': 'application/json',
    'content-type': 'application/json',
    'authorization': 'Bearer own',
  })
  assert.deepEqual(body, {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    spec: {
      token: 'secret',
      audiences: ['server'],
    },
    status: { user: {} },
  })
  const old = start(() => review({ authenticated: true, user }), { version: 'v1beta1' })
  await old.who('secret')
  const { apiVersion } = old.requests[0]!.body as { readonly apiVersion: string }
  assert.equal(apiVersion, 'authentication.k8s.io/v1beta1')
})

test("the token webhook's response decides, also if malformed", async () => {
  const check = async (
    answer: RemoteAnswer,
    expected: unknown,
    audiences?: readonly string[],
  ): Promise<void> => {
    assert.deepEqual(await start(() => answer).who('t', audiences), expected, JSON.stringify(answer))
  }
  await check(review({ authenticated: true, user: { username: 'bob' } }), {
    username: 'bob',
    groups: ['system:authenticated'],
  })
  await check(review({ authenticated: true, user: { username: 'bob', groups: null, extra: null, uid: 7 } }), {
    username: 'bob',
    groups: ['system:authenticated'],
  })
  await check(review({ authenticated: false }), undefined)
  await check(
    review({ authenticated: false, error: 'token abc is wrong' }),
    'token webhook rejected the token',
  )
  await check(review({ authenticated: 'true', user }), undefined)
  await check(review({ authenticated: true, user, audiences: ['vault'] }), undefined)
  await check(review({ authenticated: true, user, audiences: ['vault', 'server'] }), alice)
  await check(review({ authenticated: true, user }), undefined, ['vault'])
  await check(review({ authenticated: true, user, audiences: ['vault'] }), alice, ['vault'])
  await check(review({ authenticated: true }), 'token webhook returned no user name')
  await check(review({ authenticated: true, user: { username: '' } }), 'token webhook returned no user name')
  await check({}, undefined)
  await check('null', undefined)
  await check('[]', undefined)
  await check('"authenticated"', undefined)
  await check('nonsense', 'token webhook unavailable')
})

test('token webhook responses are cached per audiences', async () => {
  let isGood = true
  const { who, time, requests } = start(() =>
    review({ authenticated: isGood, user, audiences: ['server', 'vault'] }),
  )
  assert.deepEqual(await Promise.all([who('t'), who('t'), who('t')]), [alice, alice, alice])
  isGood = false
  time.ms += 119_999
  assert.deepEqual(await who('t'), alice)
  assert.equal(requests.length, 1)
  assert.equal(await who('t', ['vault']), undefined)
  assert.equal(await who('u'), undefined)
  assert.equal(requests.length, 3)
  time.ms += 2
  assert.equal(await who('t'), undefined)
  assert.equal(requests.length, 4)
})

test('a failing token webhook is retried, and the token is not logged', async () => {
  for (const failure of ['unreachable', 500, 429, 503] as const) {
    const { who, requests } = start(tries => (tries < 3 ? failure : review({ authenticated: true, user })))
    assert.deepEqual(await who('t'), alice)
    assert.equal(requests.length, 3)
  }
  const { who, requests, logged } = start(() => 500)
  assert.equal(await who('very-secret'), 'token webhook unavailable')
  assert.equal(requests.length, 5)
  assert.equal(logged.length, 1)
  assert.doesNotMatch(JSON.stringify(logged), /very-secret/)
  await who('very-secret')
  assert.equal(requests.length, 10)
  const failure = start(() => 403)
  await failure.who('t')
  assert.equal(failure.requests.length, 1)
})
