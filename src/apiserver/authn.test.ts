import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { apiRequest, startTokenServer, type RequestOptions } from './authn/testdata/token-server.ts'
import type { ApiRequest, RequestContext } from './request.ts'
import { authenticate } from './stages.ts'

const outside = { peer: {} }

function bearer(token: string): RequestOptions {
  return { ...outside, headers: { authorization: `Bearer ${token}` } }
}

test('the first successful authenticator wins, and invalid credentials are not anonymous', async t => {
  const {
    server: { authentication },
  } = await startTokenServer(t, {
    tokenFile: 'secret-a,alice,1,"dev,ops"\nsecret-b,bob,2\n',
    passwordFile: 'hunter2,carol,3,old\n',
  })
  const certificate = { commonName: 'dave', organizations: ['admins'] }
  const check = async (options: RequestOptions, expected: string): Promise<void> => {
    const result = await authentication.authenticate(apiRequest('GET', '/api', options))
    const found =
      result === undefined
        ? 'nobody'
        : 'user' in result
          ? `${result.user.username} ${result.user.groups.join(',')}`
          : 'refused'
    assert.equal(found, expected, JSON.stringify(options))
  }
  const basic = (text: string) => ({
    ...outside,
    headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
  })
  await check(outside, 'system:anonymous system:unauthenticated')
  await check(bearer('secret-a'), 'alice dev,ops,system:authenticated')
  await check({ ...outside, headers: { authorization: '  bEaReR secret-b  ' } }, 'bob system:authenticated')
  await check(bearer('secret-c'), 'refused')
  await check(bearer('secret-a secret-b'), 'alice dev,ops,system:authenticated')
  await check(bearer(' secret-a'), 'system:anonymous system:unauthenticated')
  await check(bearer(''), 'system:anonymous system:unauthenticated')
  await check(
    { ...outside, headers: { authorization: 'Negotiate secret-a' } },
    'system:anonymous system:unauthenticated',
  )
  await check(basic('carol:hunter2'), 'carol old,system:authenticated')
  await check(basic('carol:hunter'), 'refused')
  await check(basic('carol'), 'refused')
  await check(basic('nobody:'), 'refused')
  await check({ peer: { certificate } }, 'dave admins,system:authenticated')
  await check(
    { peer: { certificate }, headers: { authorization: 'Bearer secret-a' } },
    'dave admins,system:authenticated',
  )
  await check(
    { peer: { certificate: { commonName: '', organizations: ['x'] } } },
    'system:anonymous system:unauthenticated',
  )
  await check({ peer: { certificateError: 'CERT_HAS_EXPIRED' } }, 'refused')
  await check(
    {
      peer: { certificateError: 'CERT_HAS_EXPIRED' },
      headers: { authorization: 'Bearer secret-b' },
    },
    'bob system:authenticated',
  )
  await check(
    { peer: { user: { username: 'system:kube-scheduler', groups: [] } } },
    'system:kube-scheduler system:authenticated',
  )
})

test('anonymous requests can be disabled or limited to paths', async t => {
  const check = async (
    anonymous: { enabled: boolean; paths?: string[] },
    expected: Record<string, number>,
  ): Promise<void> => {
    const { request } = await startTokenServer(t, { anonymous })
    for (const [path, code] of Object.entries(expected)) {
      assert.equal((await request('GET', path, outside)).code, code, path)
    }
  }
  await check({ enabled: true }, { '/version': 200, '/api/v1/pods': 403 })
  await check({ enabled: false }, { '/version': 401, '/api/v1/pods': 401 })
  await check(
    { enabled: true, paths: ['/version'] },
    { '/version': 200, '/version/': 401, '/api/v1/pods': 401 },
  )
})

test('a 401 response does not disclose the reason', async t => {
  const { request } = await startTokenServer(t)
  const { code, body } = await request('GET', '/api/v1/pods', bearer('x.y.z'))
  assert.deepEqual([code, body.reason, body.message], [401, 'Unauthorized', 'Unauthorized'])
})

test('an ignored Authorization header causes a warning', async t => {
  const { request } = await startTokenServer(t)
  const { code, headers } = await request('GET', '/version', bearer(' token'))
  assert.equal(code, 200)
  assert.match(String(headers?.['warning']), /contains extra space before the bearer token, and is ignored/)
})

test('a bearer token is accepted as a WebSocket subprotocol', async t => {
  const {
    server: { authentication },
  } = await startTokenServer(t, { tokenFile: 'secret-a,alice,1\n' })
  const code = (token: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
  const check = async (protocols: string, expected: string, upgrade = 'websocket'): Promise<void> => {
    const headers = { 'connection': 'keep-alive, Upgrade', upgrade, 'sec-websocket-protocol': protocols }
    const result = await authentication.authenticate(apiRequest('GET', '/api', { ...outside, headers }))
    assert.equal(result && ('user' in result ? result.user.username : result.failure), expected)
  }
  await check(`v4.channel.k8s.io, ${code('secret-a')}`, 'alice')
  await check(`${code('secret-a')},v4.channel.k8s.io`, 'alice')
  await check(`v4.channel.k8s.io, ${code('secret-b')}`, 'invalid bearer token')
  await check(code('secret-a'), 'missing additional subprotocol')
  await check(
    `a, ${code('secret-a')}, ${code('secret-a')}`,
    'multiple base64.bearer.authorization tokens specified',
  )
  await check(`a, ${code('secret-a')}=`, 'invalid base64.bearer.authorization token encoding')
  await check('a, base64url.bearer.authorization.k8s.io._w', 'invalid base64.bearer.authorization token')
  await check(`v4.channel.k8s.io, ${code('secret-a')}`, 'system:anonymous', 'h2c')
})

test('later stages see no credentials', async t => {
  const {
    server: { authentication },
    platform,
  } = await startTokenServer(t, { tokenFile: 'secret-a,alice,1\n' })
  const seen = async (headers: Record<string, string>): Promise<ApiRequest> => {
    const request = {
      ...apiRequest('GET', '/api', { ...outside, headers }),
      headerValues: (name: string) => [headers[name] ?? ''],
    }
    const context: RequestContext = {
      request,
      info: { isResource: false, verb: 'get', path: '/api' },
      user: { username: '', groups: [] },
      warnings: new Set(),
      annotations: new Map(),
      receivedMs: platform.clock.now(),
      stageStartedMs: 0,
      excludedMs: 0,
      isTerminated: false,
    }
    const stage = authenticate(authentication)
    await Promise.try(() => stage(context, async () => ({ status: 200 }))).catch(() => undefined)
    return context.request
  }
  const headers = {
    'accept': 'application/json',
    'authorization': 'Bearer secret-a',
    'x-remote-user': 'admin',
    'x-remote-group': 'system:masters',
    'x-remote-extra-a%2fb': '1',
    'sec-websocket-protocol': 'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0LWE',
  }
  const request = await seen(headers)
  assert.deepEqual(
    { ...request.headers },
    {
      'user-agent': 'test/1.0',
      'accept': 'application/json',
      'sec-websocket-protocol': 'v4.channel.k8s.io',
    },
  )
  for (const name of Object.keys(headers)) {
    assert.doesNotMatch(String(request.headerValues?.(name)), /secret|c2Vj|admin|masters/)
  }
  assert.deepEqual(request.headerValues?.('accept'), ['application/json'])
  assert.equal(request.query.size, 0)
  assert.equal((await seen({ authorization: 'Bearer wrong' })).headers['authorization'], undefined)
  const plain = apiRequest('GET', '/api', { ...outside, headers: { accept: '*/*' } })
  assert.equal(authentication.withoutCredentials(plain), plain)
})

test('random credentials headers yield 401 or the anonymous user', async t => {
  const { request } = await startTokenServer(t, {
    tokenFile: 'secret-a,alice,1\n',
    passwordFile: 'p,carol,1\n',
  })
  const text = fc.oneof(
    fc.string({ unit: 'binary-ascii' }),
    fc.base64String(),
    fc.constantFrom('abcdef.0123456789abcdef', '..', 'a.b.c'),
  )
  const scheme = fc.constantFrom('Bearer ', 'bearer  ', 'Basic ', 'Digest ', '', 'Bearer')
  const name = fc.constantFrom(
    'authorization',
    'x-remote-user',
    'x-remote-group',
    'impersonate-user',
    'sec-websocket-protocol',
    'upgrade',
  )
  const headers = fc.dictionary(
    name,
    fc.tuple(scheme, text).map(([head, tail]) => head + tail),
    { maxKeys: 4 },
  )
  await fc.assert(
    fc.asyncProperty(headers, async each => {
      const { code } = await request('GET', '/api/v1/secrets', { ...outside, headers: { ...each } })
      assert.ok(code === 401 || code === 403, `${code} ${JSON.stringify(each)}`)
    }),
    { numRuns: 300 },
  )
})
