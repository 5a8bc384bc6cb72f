import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseYaml } from '#/api/text/yaml.ts'
import { readAll } from '#/base/read-all.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { inProcessHttp } from '#/platform/in-process-http.ts'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { credentialsOf } from './connection-settings.ts'
import type { Credentials } from './credentials.ts'
import { oidcCredentials, type AuthProviderConfig, type OidcOptions } from './oidc-credentials.ts'

const { signal } = new AbortController()
const issuer = 'https://issuer.test/realm'
const startSeconds = Date.UTC(2026, 0, 1) / 1_000
const complete = {
  'idp-issuer-url': issuer,
  'client-id': 'k8s',
  'client-secret': 's&',
  'refresh-token': 'r1',
}

function tokenOf(name: string, expiresSeconds: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'HS256' })}.${part({ name, exp: startSeconds + expiresSeconds })}.sig`
}

interface Issuer {
  /** Answers to the token endpoint, by status. */
  readonly answer?: (form: URLSearchParams, authorization: string) => readonly [number, object | string]
  readonly discovery?: readonly [number, object | string]
}

interface Started {
  readonly credentials: Credentials
  readonly ask: () => Promise<string>
  readonly simulation: Simulation
  readonly requests: string[]
  readonly config: () => Promise<unknown>
}

async function start(config: AuthProviderConfig, served: Issuer = {}): Promise<Started> {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  const users = [{ name: 'me', user: { 'auth-provider': { name: 'oidc', config } } }]
  const file = { users: [{ name: 'other', user: { token: 'x' } }, ...users], unknown: 'kept' }
  await simulation.run(host.files.write('/config', JSON.stringify(file)))
  const requests: string[] = []
  const connectHttp: OidcOptions['connectHttp'] = ({ origin, tls, proxy }) =>
    inProcessHttp(exchange => {
      requests.push(`${exchange.method} ${origin}${exchange.target} ${String(tls?.ca)} ${proxy ?? ''}`.trim())
      void respond(exchange, served)
    })
  const settings = { name: 'oidc', config, userName: 'me', file: '/config' }
  const credentials = oidcCredentials({ platform: host, connectHttp, settings, proxyOf: () => 'http://p' })
  return {
    simulation,
    requests,
    credentials,
    ask: async () => String((await simulation.run(credentials.current(signal))).headers['authorization']),
    config: async () => parseYaml(await simulation.run(host.files.read('/config')), { maxBytes: 10_000 }),
  }
}

async function respond(exchange: HttpExchange, { answer, discovery }: Issuer): Promise<void> {
  const form = new URLSearchParams((await readAll(exchange.body(), 100_000)).toString())
  const [status, body] = exchange.target.endsWith('/openid-configuration')
    ? (discovery ?? [200, { token_endpoint: `${issuer}/token` }])
    : answer!(form, exchange.headers['authorization'] ?? '')
  exchange.respond(status, {})
  exchange.end([Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))])
}

test('a fresh ID token is used; an expired one is renewed once and written to the kubeconfig', async () => {
  const first = tokenOf('first', 100)
  const second = tokenOf('second', 1_000)
  const { ask, credentials, simulation, requests, config } = await start(
    {
      ...complete,
      'id-token': first,
      'idp-certificate-authority-data': Buffer.from('CA').toString('base64'),
    },
    {
      answer: (form, authorization) => {
        assert.equal(form.toString(), 'grant_type=refresh_token&refresh_token=r1')
        assert.equal(Buffer.from(authorization.slice(6), 'base64').toString(), 'k8s:s%26')
        return [200, { id_token: second, refresh_token: 'r2', access_token: 'a', token_type: 'bearer' }]
      },
    },
  )
  assert.equal(await ask(), `Bearer ${first}`)
  await simulation.advance(89_000)
  assert.equal(await ask(), `Bearer ${first}`)
  assert.deepEqual(requests, [])
  await simulation.advance(2_000)
  const both = Promise.all([credentials.current(signal), credentials.current(signal)])
  const headers = { authorization: `Bearer ${second}` }
  assert.deepEqual(await simulation.run(both), [{ headers }, { headers }])
  assert.deepEqual(requests, [
    `GET ${issuer}/.well-known/openid-configuration CA http://p`,
    `POST ${issuer}/token CA http://p`,
  ])
  const written = (await config()) as { readonly users: readonly object[]; readonly unknown: string }
  assert.deepEqual(written.users[1], { name: 'other', user: { token: 'x' } })
  assert.equal(written.unknown, 'kept')
  const provider = {
    name: 'oidc',
    config: {
      ...complete,
      'idp-certificate-authority-data': 'Q0E=',
      'id-token': second,
      'refresh-token': 'r2',
    },
  }
  assert.deepEqual(written.users[0], { name: 'me', user: { 'auth-provider': provider } })
})

test('an issuer that refuses the header gets the client ID and secret in the form', async () => {
  const renewed = tokenOf('x', 1_000)
  const { ask, config } = await start(complete, {
    answer: (form, authorization) => {
      if (authorization !== '') return [401, { error: 'invalid_client' }]
      assert.deepEqual([form.get('client_id'), form.get('client_secret')], ['k8s', 's&'])
      return [200, { id_token: renewed }]
    },
  })
  assert.equal(await ask(), `Bearer ${renewed}`)
  assert.match(JSON.stringify(await config()), /"refresh-token":"r1"/)
})

test('errors of the auth provider name the reason', async () => {
  const check = async (config: AuthProviderConfig, served: Issuer, message: RegExp): Promise<void> => {
    const { ask } = await start(config, served)
    await assert.rejects(ask(), message)
  }
  const { 'refresh-token': _, ...withoutRefresh } = complete
  await check(
    withoutRefresh,
    {},
    /^CredentialsError: No valid id-token, and cannot refresh without refresh-token/,
  )
  await check({ ...complete, 'id-token': 'x' }, {}, /ID Token is not a valid JWT/)
  await check({ ...complete, 'id-token': 'a.b.c' }, {}, /parsing claims/)
  const failing = (status: number, body: object | string): Issuer => ({ discovery: [status, body] })
  await check(complete, failing(404, 'not here'), /oidc: failed to query metadata endpoint 404: "not here"/)
  await check(complete, failing(200, '<html>'), /oidc: failed to decode provider discovery object/)
  await check(complete, failing(200, {}), /oidc: discovery object doesn't contain a token_endpoint/)
  await check(complete, failing(200, 'x'.repeat(2_000_000)), /exceeds 1048576 bytes/)
  const answering = (status: number, body: object | string): Issuer => ({ answer: () => [status, body] })
  const expired = { error: 'invalid_grant', error_description: 'expired' }
  await check(complete, answering(400, expired), /failed to refresh token: oauth2: "invalid_grant" "expired"/)
  await check(complete, answering(500, 'oops'), /oauth2: cannot fetch token: 500\nResponse: oops/)
  await check(complete, answering(200, 'oops'), /failed to refresh token: oauth2: cannot parse json/)
  await check(complete, answering(200, { access_token: 'a' }), /token response did not contain an id_token/)
})

test('auth providers that do not exist, and settings that are missing, are refused at once', () => {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const check = (name: string, config: AuthProviderConfig, message: string): void => {
    const authProvider = { name, config, userName: 'me' }
    const connectHttp = () => inProcessHttp(() => undefined)
    assert.throws(() => credentialsOf(platform, { authProvider }, { connectHttp }), { message })
  }
  check('gcp', {}, 'no Auth Provider found for name "gcp"')
  check('oidc', {}, 'Must provide idp-issuer-url')
  check('oidc', { 'idp-issuer-url': issuer }, 'Must provide client-id')
})
