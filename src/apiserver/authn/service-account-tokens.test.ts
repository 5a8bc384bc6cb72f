import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { keyIdOf } from '#/base/json-web-key.ts'
import { signToken, type Claims } from '#/base/json-web-token.ts'
import { credentialId, nodeName, nodeUid, podName, podUid } from './extra-keys.ts'
import { issuerUrl, signingKey, startTokenServer, toPem, type TokenServer } from './testdata/token-server.ts'

const inDefault = '/api/v1/namespaces/default'
const hourMs = 3_600_000

async function make(server: TokenServer, url: string, body: object): Promise<Record<'name' | 'uid', string>> {
  const answer = await server.request('POST', url, { body })
  assert.equal(answer.code, 201, answer.text)
  return answer.body['metadata'] as unknown as Record<'name' | 'uid', string>
}

async function remove(server: TokenServer, url: string): Promise<void> {
  assert.equal((await server.request('DELETE', `${url}?gracePeriodSeconds=0`)).code, 200)
}

async function withAccount(
  t: Parameters<typeof startTokenServer>[0],
  settings?: Parameters<typeof startTokenServer>[1],
) {
  const server = await startTokenServer(t, settings)
  const account = await make(server, `${inDefault}/serviceaccounts`, { metadata: { name: 'web' } })
  const ask = (spec: object = {}, metadata: object = {}) => {
    return server.request('POST', `${inDefault}/serviceaccounts/web/token`, { body: { metadata, spec } })
  }
  const token = async (spec: object = {}): Promise<string> => {
    const { code, body, text } = await ask(spec)
    assert.equal(code, 201, text)
    return tokenIn(body)
  }
  return { ...server, account, ask, token, server }
}

function tokenIn({ status }: object & { readonly status?: unknown }): string {
  return (status as { readonly token: string }).token
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
}

function forge(claims: Claims): string {
  const privateKey = createPrivateKey(signingKey)
  return signToken(claims, { privateKey, keyId: keyIdOf(privateKey) })
}

test('a service account token authenticates, and the published JWKS verifies it', async t => {
  const { account, ask, whoHas, request, platform } = await withAccount(t)
  const seconds = (): number => Math.floor(platform.clock.now() / 1_000)
  const before = seconds()
  const { body } = await ask({ expirationSeconds: 600 })
  const token = tokenIn(body)
  const claims = claimsOf(token)
  const issued = Number(claims['exp']) - 600
  assert.ok(issued >= before && issued <= seconds(), `${issued}`)
  assert.deepEqual(Object.keys(claims), ['aud', 'exp', 'iat', 'iss', 'jti', 'kubernetes.io', 'nbf', 'sub'])
  assert.deepEqual(
    { aud: claims['aud'], iss: claims['iss'], sub: claims['sub'], own: claims['kubernetes.io'] },
    {
      aud: [issuerUrl],
      iss: issuerUrl,
      sub: 'system:serviceaccount:default:web',
      own: { namespace: 'default', serviceaccount: { name: 'web', uid: account.uid } },
    },
  )
  assert.deepEqual(await whoHas(token), {
    username: 'system:serviceaccount:default:web',
    uid: account.uid,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(claims['jti'])}`] },
  })
  const { body: metadata } = await request('GET', '/.well-known/openid-configuration')
  assert.deepEqual((await request('GET', '/.well-known/openid-configuration/')).body, metadata)
  assert.deepEqual(metadata, {
    issuer: issuerUrl,
    jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  })
  const keys = await request('GET', '/openid/v1/jwks')
  assert.deepEqual(keys.headers, { 'cache-control': 'public, max-age=3600' })
  const published = (JSON.parse(keys.text) as { keys: JsonWebKeySet }).keys
  const [head = '', payload = '', signature = ''] = token.split('.')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
  const key = createPublicKey({ key: published.find(each => each['kid'] === kid)!, format: 'jwk' })
  const given = { key, dsaEncoding: 'ieee-p1363' } as const
  assert.ok(verify('sha256', Buffer.from(`${head}.${payload}`), given, Buffer.from(signature, 'base64url')))
  assert.equal((await request('POST', '/openid/v1/jwks')).code, 405)
})

type JsonWebKeySet = Record<string, string>[]

test('a service account token expires after one minute of leeway', async t => {
  const { token, whoHas, advance } = await withAccount(t)
  const [short, long] = [await token({ expirationSeconds: 600 }), await token({ expirationSeconds: 7_200 })]
  advance(659_000)
  assert.equal(typeof (await whoHas(short)), 'object')
  advance(3_000)
  assert.equal(await whoHas(short), 'service account token has expired')
  assert.equal(typeof (await whoHas(long)), 'object')
  advance(2 * hourMs)
  assert.equal(await whoHas(long), 'service account token has expired')
  advance(-5 * hourMs)
  assert.equal(await whoHas(long), 'service account token is not valid yet')
})

test('a service account token is invalid after its account is deleted or recreated', async t => {
  const { server, token, whoHas, request } = await withAccount(t)
  const text = await token()
  const headers = { authorization: `Bearer ${text}` }
  const asItself = () => request('GET', '/api/v1/pods', { headers, peer: {} })
  const before = await asItself()
  assert.equal(before.code, 403)
  assert.match(String(before.body.message), /User "system:serviceaccount:default:web" cannot list/)
  await remove(server, `${inDefault}/serviceaccounts/web`)
  assert.equal((await asItself()).code, 401)
  assert.equal(await whoHas(text), 'ServiceAccount web bound to the token not found')
  await make(server, `${inDefault}/serviceaccounts`, { metadata: { name: 'web' } })
  assert.equal(await whoHas(text), 'ServiceAccount web bound to the token has a different UID')
  assert.equal((await asItself()).code, 401)
})

const pod = {
  metadata: { name: 'web-0' },
  spec: { serviceAccountName: 'web', nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
}

test('a bound token is invalid after its pod, secret or node is deleted', async t => {
  const { server, token, whoHas, ask } = await withAccount(t)
  const made = {
    Node: await make(server, '/api/v1/nodes', { metadata: { name: 'n1' } }),
    Pod: await make(server, `${inDefault}/pods`, pod),
    Secret: await make(server, `${inDefault}/secrets`, { metadata: { name: 's1' } }),
  }
  const urls = { Node: '/api/v1/nodes/n1', Pod: `${inDefault}/pods/web-0`, Secret: `${inDefault}/secrets/s1` }
  for (const kind of ['Pod', 'Secret', 'Node'] as const) {
    const { name, uid } = made[kind]
    const text = await token({ boundObjectRef: { apiVersion: 'v1', kind, name, uid } })
    const user = await whoHas(text)
    assert.ok(typeof user === 'object', kind)
    const { [credentialId]: id, ...extra } = user.extra ?? {}
    assert.deepEqual(id, [`JTI=${String(claimsOf(text)['jti'])}`])
    assert.deepEqual(extra, {
      ...(kind === 'Pod' && { [podName]: ['web-0'], [podUid]: [uid] }),
      ...(kind !== 'Secret' && { [nodeName]: ['n1'], [nodeUid]: [made.Node.uid] }),
    })
    const other = await ask({ boundObjectRef: { apiVersion: 'v1', kind, name, uid: 'another' } })
    assert.deepEqual([other.code, other.body.reason], [409, 'Conflict'])
    await remove(server, urls[kind])
    assert.equal(await whoHas(text), `${kind} ${name} bound to the token not found`)
    assert.equal((await ask({ boundObjectRef: { apiVersion: 'v1', kind, name } })).code, 404)
  }
})

test('a bound token is valid during the grace period of its pod', async t => {
  const { server, token, whoHas, advance, request } = await withAccount(t)
  const { name, uid } = await make(server, `${inDefault}/pods`, pod)
  const text = await token({
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    expirationSeconds: 3_600,
  })
  assert.equal((await request('DELETE', `${inDefault}/pods/web-0?gracePeriodSeconds=30`)).code, 200)
  advance(85_000)
  assert.equal(typeof (await whoHas(text)), 'object')
  advance(10_000)
  assert.equal(await whoHas(text), 'Pod web-0 bound to the token is being deleted')
})

test('TokenRequest is validated', async t => {
  const { ask, server, request } = await withAccount(t, {
    serviceAccounts: { url: issuerUrl, signingKey, expirationSecondsMax: 86_400 },
  })
  await make(server, `${inDefault}/pods`, {
    ...pod,
    metadata: { name: 'other' },
    spec: { ...pod.spec, serviceAccountName: 'default' },
  })
  const check = async (answer: ReturnType<typeof ask>, code: number, message: RegExp): Promise<void> => {
    const { code: found, body, text } = await answer
    assert.equal(found, code, text)
    assert.match(String(body.message), message)
  }
  await check(
    ask({ expirationSeconds: 599 }),
    422,
    /spec\.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes/,
  )
  await check(
    ask({ expirationSeconds: 2 ** 32 + 1 }),
    422,
    /may not specify a duration larger than 2\^32 seconds/,
  )
  await check(
    ask({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'other' } }),
    400,
    /to pod running with different serviceaccount name/,
  )
  await check(
    ask({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: '../secrets/x' } }),
    404,
    /not found/,
  )
  await check(
    ask({ boundObjectRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' } }),
    400,
    /cannot bind token to object of type/,
  )
  await check(
    ask({ boundObjectRef: { apiVersion: 'apps/v1', kind: 'Pod', name: 'x' } }),
    400,
    /cannot bind token to object of type/,
  )
  await check(
    ask({}, { name: 'another' }),
    422,
    /metadata\.name: Invalid value: "another": must match the service account name/,
  )
  await check(ask({}, { namespace: 'another' }), 422, /must match the service account namespace if specified/)
  await check(ask({}, { uid: 'another' }), 409, /the UID in the token request \(another\) does not match/)
  await check(
    request('POST', `${inDefault}/serviceaccounts/none/token`, { body: {} }),
    404,
    /serviceaccounts "none" not found/,
  )
  const { body, headers } = await ask({ expirationSeconds: 100_000 })
  assert.deepEqual(body['spec']!['expirationSeconds'], 86_400)
  assert.match(
    String(headers?.['warning']),
    /requested expiration of 100000 seconds shortened to 86400 seconds/,
  )
  const { name, namespace } = body['metadata'] ?? {}
  assert.deepEqual([name, namespace], ['web', 'default'])
})

test('a service account token is valid only for its audiences', async t => {
  const { token, whoHas, request } = await withAccount(t)
  const own = await token()
  const vault = await token({ audiences: ['vault', 'consul'] })
  assert.equal(typeof (await whoHas(own)), 'object')
  const wrong = 'token audiences do not match'
  assert.equal(await whoHas(vault), wrong)
  assert.equal(await whoHas(own, ['vault']), wrong)
  const review = async (text: string, audiences: readonly string[] = []): Promise<unknown> => {
    const { code, body } = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
      body: { spec: { token: text, audiences } },
    })
    assert.equal(code, 201)
    return body.status
  }
  const of = (status: unknown): unknown[] => {
    const { authenticated, audiences, user, error } = status as Record<string, unknown>
    return [authenticated, audiences, (user as Record<string, unknown>)['username'], error]
  }
  const name = 'system:serviceaccount:default:web'
  assert.deepEqual(of(await review(own)), [true, [issuerUrl], name, undefined])
  assert.deepEqual(of(await review(vault)), [undefined, undefined, undefined, wrong])
  assert.deepEqual(of(await review(vault, ['consul', 'elsewhere'])), [true, ['consul'], name, undefined])
  assert.deepEqual(of(await review('x')), [undefined, undefined, undefined, 'invalid bearer token'])
  const empty = await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body: {} })
  assert.deepEqual(
    [empty.code, empty.body.message],
    [400, 'token is required for TokenReview in authentication'],
  )
})

test('a projected token lasts one year, and use after one hour is annotated as stale', async t => {
  const { server, token, advance } = await withAccount(t)
  const { name } = await make(server, `${inDefault}/pods`, pod)
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name }
  const text = await token({ boundObjectRef, expirationSeconds: 3_607 })
  const {
    exp,
    iat,
    'kubernetes.io': own,
  } = claimsOf(text) as Record<string, number> & {
    'kubernetes.io': { warnafter: number }
  }
  assert.deepEqual([exp! - iat!, own.warnafter - iat!], [365 * 24 * 3_600, 3_607])
  const annotations = async () => {
    const result = await server.server.authentication.reviewToken(text, [issuerUrl])
    return 'user' in result ? result.annotations : result
  }
  assert.equal(await annotations(), undefined)
  advance(3_700_000)
  const [[key, value] = []] = Object.entries((await annotations()) ?? {})
  assert.equal(key, 'authentication.k8s.io/stale-token')
  assert.match(
    String(value),
    /^subject: system:serviceaccount:default:web, seconds after warning threshold: 9[2-5]$/,
  )
  advance(366 * 24 * hourMs)
  assert.deepEqual(await annotations(), { failure: 'service account token has expired' })
  const ordinary = [
    { boundObjectRef, expirationSeconds: 3_608 },
    { expirationSeconds: 3_607 },
    { boundObjectRef, expirationSeconds: 3_607, audiences: ['vault'] },
  ]
  for (const spec of ordinary) {
    const claims = claimsOf(await token(spec))['kubernetes.io'] as Record<string, unknown>
    assert.equal(claims['warnafter'], undefined)
  }
})

test('service account keys can be rotated, and other issuers are rejected', async t => {
  const next = toPem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
  const { account, token, whoHas, request, platform } = await withAccount(t, {
    serviceAccounts: {
      url: 'https://new',
      signingKey: next,
      verificationKeys: [signingKey],
      acceptedIssuers: [issuerUrl],
      audiences: ['a'],
    },
  })
  assert.equal(typeof (await whoHas(await token())), 'object')
  const { body } = await request('GET', '/.well-known/openid-configuration')
  assert.deepEqual(body['id_token_signing_alg_values_supported'], ['ES256', 'RS256'])
  const now = Math.floor(platform.clock.now() / 1_000)
  const old = {
    'iss': issuerUrl,
    'aud': ['a'],
    'exp': now + 600,
    'iat': now,
    'nbf': now,
    'sub': 'system:serviceaccount:default:web',
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'web', uid: account.uid } },
  }
  assert.equal(typeof (await whoHas(forge(old))), 'object')
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const check = async (claims: Claims, expected: string, sign = forge): Promise<void> => {
    assert.equal(await whoHas(sign(claims)), expected, JSON.stringify(claims))
  }
  await check({ ...old, iss: 'https://elsewhere' }, 'invalid bearer token')
  await check(old, 'invalid signature, no keys found', claims =>
    signToken(claims, { privateKey: stranger, keyId: keyIdOf(stranger) }),
  )
  await check(old, 'invalid signature', claims =>
    signToken(claims, { privateKey: stranger, keyId: keyIdOf(createPrivateKey(signingKey)) }),
  )
  const odd = 'invalid service account token claims'
  await check({ ...old, exp: undefined }, odd)
  await check({ ...old, exp: '2099' }, odd)
  await check({ ...old, aud: 7 }, odd)
  await check({ ...old, 'kubernetes.io': undefined }, odd)
  await check({ ...old, 'kubernetes.io': { namespace: 'default', serviceaccount: { name: 7 } } }, odd)
  await check({ ...old, 'kubernetes.io': { ...old['kubernetes.io'], pod: 'web-0' } }, odd)
  await check({ ...old, iat: now + 3_600 }, 'service account token is issued in the future')
})

test('truncated and altered service account tokens are rejected', async t => {
  const { token, request, whoHas } = await withAccount(t)
  const whole = await token()
  await fc.assert(
    fc.asyncProperty(
      fc.nat(whole.length - 1),
      fc.constantFrom('A', 'z', '-', '.', ''),
      async (at, character) => {
        const changed = whole.slice(0, at) + character + whole.slice(at + 1)
        for (const text of [changed, whole.slice(0, at), whole + character.repeat(2)]) {
          if (text === whole || text === '') continue
          const { code } = await request('GET', '/api/v1/secrets', {
            headers: { authorization: `Bearer ${text}` },
            peer: {},
          })
          assert.equal(code, 401, text)
        }
      },
    ),
    { numRuns: 150 },
  )
  assert.equal(typeof (await whoHas(whole)), 'object')
})

test('a legacy token is valid while its secret contains it', async t => {
  const { server, account, whoHas, request } = await withAccount(t)
  const text = forge({
    'iss': 'kubernetes/serviceaccount',
    'sub': 'system:serviceaccount:default:web',
    'kubernetes.io/serviceaccount/namespace': 'default',
    'kubernetes.io/serviceaccount/service-account.name': 'web',
    'kubernetes.io/serviceaccount/service-account.uid': account.uid,
    'kubernetes.io/serviceaccount/secret.name': 'web-token',
  })
  const url = `${inDefault}/secrets/web-token`
  const patch = async (body: object): Promise<void> => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    assert.equal((await request('PATCH', url, { body, headers })).code, 200)
  }
  assert.equal(await whoHas(text), 'Token has been invalidated')
  await make(server, `${inDefault}/secrets`, {
    metadata: { name: 'web-token', annotations: { 'kubernetes.io/service-account.name': 'web' } },
    type: 'kubernetes.io/service-account-token',
    data: { token: Buffer.from(text).toString('base64') },
  })
  assert.deepEqual(await whoHas(text), {
    username: 'system:serviceaccount:default:web',
    uid: account.uid,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
  })
  assert.equal(await whoHas(text, ['vault']), 'token audiences do not match')
  const used = async (): Promise<unknown> => {
    const {
      metadata: { labels = {} },
    } = JSON.parse((await request('GET', url)).text) as {
      metadata: { labels?: Record<string, string> }
    }
    return labels['kubernetes.io/legacy-token-last-used']
  }
  for (let tries = 0; (await used()) === undefined && tries < 100; tries++) await server.platform.clock.turn()
  assert.match(String(await used()), /^\d{4}-\d\d-\d\d$/)
  await patch({ metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } } })
  assert.equal(await whoHas(text), 'the token in secret default/web-token has been marked invalid')
  await patch({
    metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': null } },
    data: { token: 'eA==' },
  })
  assert.equal(await whoHas(text), "Token does not match server's copy")
  await remove(server, url)
  assert.equal(await whoHas(text), 'Token has been invalidated')
})
