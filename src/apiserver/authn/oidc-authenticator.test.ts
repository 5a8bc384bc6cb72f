import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { toJsonWebKey } from '#/base/json-web-key.ts'
import { signToken, type Claims } from '#/base/json-web-token.ts'
import { nodePlatform } from '#/platform/node.ts'
import { BearerToken } from './bearer-token.ts'
import { oidcConfigurationFromFlags } from './oidc-flags.ts'
import { OidcAuthenticator, type OidcConfiguration } from './oidc-authenticator.ts'
import { remoteServer, type RemoteAnswer } from './testdata/remote-server.ts'

const url = 'https://accounts.example.com'
const now = 1_800_000_000
const keys = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { log, clock: machineClock } = nodePlatform({ log: { level: 'error', format: 'text' } })
const silent = { ...log, warn: () => undefined }
const claims = { iss: url, aud: 'kubernetes', exp: now + 600, sub: 'alice', jti: 'token-1' }

function sign(content: Claims, privateKey: KeyObject = keys[0]!.privateKey, keyId = 'key-0'): string {
  return signToken(content, { privateKey, keyId })
}

function start(changes: Partial<OidcConfiguration> = {}, answers: Record<string, RemoteAnswer> = {}) {
  const published = [
    { keyId: 'key-0', key: keys[0]!.publicKey },
    { keyId: 'key-e', key: elliptic.publicKey },
  ]
  const documents: Record<string, RemoteAnswer> = {
    [`${url}/.well-known/openid-configuration`]: { issuer: url, jwks_uri: `${url}/keys` },
    [`${url}/keys`]: { keys: published.map(toJsonWebKey) },
    ...answers,
  }
  const time = { ms: now * 1_000 }
  const clock = { ...machineClock, now: () => time.ms, monotonicMs: () => time.ms }
  const { connect, requests } = remoteServer(request => documents[request.url] ?? 404)
  const configuration = {
    ...oidcConfigurationFromFlags({ issuerUrl: url, clientId: 'kubernetes', usernamePrefix: '-' }),
    ...changes,
  }
  const tokens = new OidcAuthenticator({ clock, log: silent, connectHttp: connect, configuration })
  const who = async (text: string): Promise<unknown> => {
    const result = await tokens.authenticate(new BearerToken(text))
    return result && ('user' in result ? result.user : result.failure)
  }
  return { documents, time, requests, who }
}

const alice = {
  username: 'alice',
  groups: ['system:authenticated'],
  extra: {
    'authentication.kubernetes.io/credential-id': ['JTI=token-1'],
  },
}

test('an OIDC token authenticates, and keys are fetched once', async () => {
  const { who, requests } = start()
  assert.deepEqual(await who(sign(claims)), alice)
  assert.deepEqual(await who(sign({ ...claims, aud: ['other', 'kubernetes'] })), alice)
  assert.deepEqual(await Promise.all([who(sign(claims, undefined, '')), who(sign(claims))]), [alice, alice])
  assert.deepEqual(
    requests.map(({ url }) => url),
    [`${url}/.well-known/openid-configuration`, `${url}/keys`],
  )
})

test('invalid OIDC tokens are rejected, and tokens of other issuers ignored', async () => {
  const { who } = start()
  const check = async (content: Claims, expected: string | undefined): Promise<void> => {
    assert.equal(await who(sign(content)), expected, JSON.stringify(content))
  }
  await check({ ...claims, iss: `${url}/` }, undefined)
  await check({ ...claims, iss: undefined }, undefined)
  await check({ ...claims, aud: 'vault' }, 'oidc: token audiences do not match')
  await check({ ...claims, aud: undefined }, 'oidc: token audiences do not match')
  await check({ ...claims, exp: now }, 'oidc: token is expired')
  await check({ ...claims, exp: undefined }, 'oidc: token is expired')
  await check({ ...claims, exp: '1900000000' }, 'oidc: token is expired')
  await check({ ...claims, nbf: now + 301 }, 'oidc: token is not valid yet')
  await check({ ...claims, sub: undefined }, 'oidc: claim sub not present')
  await check({ ...claims, sub: '' }, 'oidc: claim sub not present')
  await check({ ...claims, sub: ['alice'] }, 'oidc: claim sub not present')
  assert.equal(await who('x.y.z'), undefined)
  const unsigned = 'oidc: failed to verify signature: no matching key'
  assert.equal(await who(sign(claims, keys[1]!.privateKey)), unsigned)
  assert.equal(await who(sign(claims, keys[0]!.privateKey, 'unknown')), unsigned)
  assert.equal(
    await who(sign(claims, elliptic.privateKey, 'key-e')),
    'oidc: signing algorithm is not allowed',
  )
})

test('OIDC claims map to a user as configured', async () => {
  const check = async (
    changes: Parameters<typeof oidcConfigurationFromFlags>[0] | object,
    content: object,
    expected: unknown,
  ): Promise<void> => {
    const flags = { issuerUrl: url, clientId: 'kubernetes', ...changes }
    const { who } = start(oidcConfigurationFromFlags(flags))
    assert.deepEqual(await who(sign({ ...claims, jti: undefined, ...content })), expected)
  }
  const user = (username: string, ...groups: string[]) => ({
    username,
    groups: [...groups, 'system:authenticated'],
  })
  await check({}, {}, user(`${url}#alice`))
  await check({ usernamePrefix: 'x:' }, {}, user('x:alice'))
  await check({ usernameClaim: 'email' }, { email: 'a@b' }, user('a@b'))
  await check({ usernameClaim: 'email' }, { email: 'a@b', email_verified: true }, user('a@b'))
  await check({ usernameClaim: 'email' }, { email: 'a@b', email_verified: false }, 'oidc: email not verified')
  await check(
    { usernameClaim: 'email' },
    { email: 'a@b', email_verified: 'true' },
    'oidc: email not verified',
  )
  await check(
    { usernamePrefix: '-', groupsClaim: 'g', groupsPrefix: 'o:' },
    { g: ['a', 'b'] },
    user('alice', 'o:a', 'o:b'),
  )
  await check({ usernamePrefix: '-', groupsClaim: 'g' }, { g: 'a' }, user('alice', 'a'))
  await check({ usernamePrefix: '-', groupsClaim: 'g' }, {}, user('alice'))
  await check(
    { usernamePrefix: '-', groupsClaim: 'g' },
    { g: [1] },
    'oidc: claim g must be a string or a list of strings',
  )
  await check(
    { usernamePrefix: '-', groupsClaim: 'g' },
    { _claim_names: { g: 'src' } },
    'oidc: distributed claim g is not supported',
  )
  await check({ usernamePrefix: '-', requiredClaims: { hd: 'x' } }, { hd: 'x' }, user('alice'))
  await check(
    { usernamePrefix: '-', requiredClaims: { hd: 'x' } },
    { hd: ['x'] },
    'oidc: required claim hd not present or value does not match',
  )
  await check({ usernameClaim: 'constructor' }, {}, 'oidc: claim constructor not present')
  await check({ usernameClaim: '__proto__' }, {}, 'oidc: claim __proto__ not present')
})

test('invalid OIDC flags are rejected', () => {
  const good = { issuerUrl: url, clientId: 'c' }
  assert.throws(() => oidcConfigurationFromFlags({ ...good, issuerUrl: 'http://x' }), /begins with https/)
  assert.throws(() => oidcConfigurationFromFlags({ ...good, clientId: '' }), /requires --oidc-client-id/)
  assert.throws(
    () => oidcConfigurationFromFlags({ ...good, signingAlgorithms: ['HS256'] }),
    /HS256 is not supported/,
  )
})

test('OIDC keys are refetched for unknown keys at a limited rate', async () => {
  const { who, documents, requests, time } = start()
  assert.deepEqual(await who(sign(claims)), alice)
  documents[`${url}/keys`] = { keys: [toJsonWebKey({ keyId: 'key-1', key: keys[1]!.publicKey })] }
  const next = (jti: string): string => sign({ ...claims, jti }, keys[1]!.privateKey, 'key-1')
  assert.equal(await who(next('a')), 'oidc: failed to verify signature: no matching key')
  for (let count = 0; count < 50; count++) await who(next(`flood-${count}`))
  assert.equal(requests.length, 2)
  time.ms += 10_001
  assert.equal(typeof (await who(next('b'))), 'object')
  assert.equal(requests.length, 3)
  // After key rotation, tokens signed with the removed key are rejected, even those accepted before.
  assert.equal(await who(sign(claims)), 'oidc: failed to verify signature: no matching key')
})

test('OIDC results are cached, at most until the token expires', async () => {
  const { who, time } = start()
  const token = sign({ ...claims, exp: now + 5 })
  assert.deepEqual(await who(token), alice)
  time.ms += 4_999
  assert.deepEqual(await who(token), alice)
  time.ms += 2
  assert.equal(await who(token), 'oidc: token is expired')
})

test('failed OIDC key requests are retried later', async () => {
  const place = `${url}/.well-known/openid-configuration`
  const cannot = 'oidc: failed to fetch keys'
  const answers: RemoteAnswer[] = [
    'unreachable',
    500,
    404,
    '{',
    '[]',
    {},
    {
      issuer: 'https://else',
      jwks_uri: `${url}/keys`,
    },
    { issuer: url, jwks_uri: 'http://x/keys' },
    { issuer: url, jwks_uri: 7 },
    { issuer: url, jwks_uri: `${url}/none` },
    `"${'x'.repeat(2_000_000)}"`,
  ]
  for (const answer of answers) {
    const { who, documents, time } = start({}, { [place]: answer })
    assert.equal(await who(sign(claims)), cannot, JSON.stringify(answer).slice(0, 80))
    documents[place] = { issuer: url, jwks_uri: `${url}/keys` }
    time.ms += 10_001
    const expected =
      typeof answer === 'object' && 'jwks_uri' in answer && answer.jwks_uri === `${url}/none` ? cannot : alice
    assert.deepEqual(await who(sign(claims)), expected)
  }
})

test('the OIDC discovery URL can differ from the issuer', async () => {
  const { who, requests } = start(
    { discoveryUrl: 'https://inside/oidc?x=1' },
    { 'https://inside/oidc?x=1': { issuer: url, jwks_uri: `${url}/keys` } },
  )
  assert.deepEqual(await who(sign(claims)), alice)
  assert.equal(requests[0]?.url, 'https://inside/oidc?x=1')
})
