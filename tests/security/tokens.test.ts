/**
 * Service account tokens with real clients: kubectl creates one, a third-party library verifies it with the
 * published keys of the cluster, and it is invalid after its expiry or after the bound object was deleted.
 */
import assert from 'node:assert/strict'
import { request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { KubeConfig, AuthenticationV1Api, CoreV1Api } from '@kubernetes/client-node'
import { createLocalJWKSet, decodeProtectedHeader, errors, jwtVerify, type JSONWebKeySet } from 'jose'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { accessTo } from '../apiserver/raw-client.ts'
import { clusterForFile } from '../clients/cluster.ts'
import { kubectlVersion } from '../clients/kubectl/session.ts'
import { apiRequest } from './api-request.ts'
import { signingKey } from './keys.ts'
import { kubectl } from './kubeconfigs.ts'
import { pod } from './users.ts'

const issuer = 'https://kubernetes.default.svc.cluster.local'
const skip =
  ((await kubectlVersion()) ?? 0) < 24 &&
  'kubectl is not installed or too old (Debian package kubernetes-client)'

describe('a token of a running cluster', { skip }, async () => {
  const cluster = await clusterForFile()
  const { port, tls } = await accessTo(cluster)
  const admin = async (...words: readonly string[]): Promise<string> => {
    return (await kubectl(cluster.kubeconfig, ...words)).trim()
  }
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromFile(cluster.kubeconfig)
  const core = kubeconfig.makeApiClient(CoreV1Api)
  const namespace = 'default'

  /** Sends a request authenticated only by the token. */
  const ask = async (
    path: string,
    token?: string,
  ): Promise<{ readonly status: number; readonly body: string }> => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    httpsRequest({ host: '127.0.0.1', port, path, ca: tls.ca, headers, agent: false }, response => {
      text(response).then(body => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
      .on('error', reject)
      .end()
    return promise
  }
  const works = async (token: string): Promise<boolean> => {
    const { status } = await ask('/api', token)
    assert.ok(status === 200 || status === 401, `${status}`)
    return status === 200
  }
  const published = async (token: string): Promise<JSONWebKeySet> => {
    const { body } = await ask('/openid/v1/jwks', token)
    return JSON.parse(body) as JSONWebKeySet
  }
  await admin('create', 'serviceaccount', 'web')

  test('a service account token is verified by another library with the published JWKS', async () => {
    const token = await admin('create', 'token', 'web', '--duration', '10m', '--audience', issuer)
    const discovery = JSON.parse((await ask('/.well-known/openid-configuration', token)).body) as Record<
      string,
      unknown
    >
    assert.equal(discovery['issuer'], issuer)
    assert.match(String(discovery['jwks_uri']), /^https:\/\/[^/]+\/openid\/v1\/jwks$/)
    const { alg = '' } = decodeProtectedHeader(token)
    assert.ok((discovery['id_token_signing_alg_values_supported'] as string[]).includes(alg))
    const keys = await published(token)
    assert.ok(
      keys.keys.every(each => !('d' in each)),
      'nothing private is published',
    )
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), { issuer, audience: issuer })
    assert.equal(payload.sub, 'system:serviceaccount:default:web')
    assert.equal(payload.exp! - payload.iat!, 600)
    await assert.rejects(
      jwtVerify(token, createLocalJWKSet(keys), { issuer, audience: 'https://elsewhere.example' }),
      errors.JWTClaimValidationFailed,
    )
    const [head, , signature] = token.split('.')
    const forged = [
      head,
      Buffer.from(JSON.stringify({ ...payload, sub: 'root' })).toString('base64url'),
      signature,
    ]
    await assert.rejects(
      jwtVerify(forged.join('.'), createLocalJWKSet(keys)),
      errors.JWSSignatureVerificationFailed,
    )
    assert.equal(await works(token), true)
    assert.equal(await works(forged.join('.')), false)
  })

  test('the JWKS endpoint is not readable without authentication', async () => {
    assert.equal((await ask('/openid/v1/jwks')).status, 403)
    assert.equal((await ask('/.well-known/openid-configuration')).status, 403)
  })

  test('a token for another audience is rejected by the API server', async () => {
    const token = await admin('create', 'token', 'web', '--audience', 'vault')
    assert.equal(await works(token), false)
    const review = await kubeconfig.makeApiClient(AuthenticationV1Api).createTokenReview({
      body: { spec: { token, audiences: ['vault'] } },
    })
    assert.deepEqual(
      [review.status?.authenticated, review.status?.user?.username, review.status?.audiences],
      [true, 'system:serviceaccount:default:web', ['vault']],
    )
  })

  test('a bound token is invalid once its pod, secret or node is deleted', async () => {
    const nodeName = 'bound'
    await core.createNode({ body: { metadata: { name: nodeName } } })
    await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'bound' } } })
    const spec = { serviceAccountName: 'web', nodeName, containers: [{ name: 'a', image: 'a' }] }
    await core.createNamespacedPod({ namespace, body: { metadata: { name: 'bound' }, spec } })
    const bound = async (kind: string): Promise<string> => {
      return admin('create', 'token', 'web', '--bound-object-kind', kind, '--bound-object-name', 'bound')
    }
    const ofAccount = await admin('create', 'token', 'web')
    const kinds = { Pod: 'pod', Secret: 'secret', Node: 'node' }
    const tokens = { Pod: await bound('Pod'), Secret: await bound('Secret'), Node: await nodeToken(core) }
    for (const token of Object.values(tokens)) assert.equal(await works(token), true)
    for (const [kind, name] of Object.entries(kinds)) {
      const token = tokens[kind as keyof typeof tokens]
      assert.equal(await works(token), true, kind)
      await admin('delete', name, 'bound', '--grace-period=0', '--force')
      assert.equal(await works(token), false, kind)
    }
    assert.equal(await works(ofAccount), true)
  })

  test('a token is invalid once its service account is deleted, also after it is created again', async () => {
    await admin('create', 'serviceaccount', 'short')
    const token = await admin('create', 'token', 'short')
    assert.equal(await works(token), true)
    await admin('delete', 'serviceaccount', 'short')
    assert.equal(await works(token), false)
    await admin('create', 'serviceaccount', 'short')
    assert.equal(await works(token), false)
    assert.equal(await works(await admin('create', 'token', 'short')), true)
  })
})

/** Older versions of kubectl cannot bind a token to a node, so the API is used. */
async function nodeToken(core: CoreV1Api): Promise<string> {
  const { status } = await core.createNamespacedServiceAccountToken({
    namespace: 'default',
    name: 'web',
    body: { spec: { audiences: [], boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'bound' } } },
  })
  return status?.token ?? ''
}

/** Validity by the second, with a virtual clock. */
test('a token expires at the second of its expiry plus one minute of leeway', async t => {
  const simulation = new Simulation({ seed: 4 })
  const platform = simulation.host('api')
  const store = await MemoryStore.open({ platform })
  const authentication = { serviceAccounts: { url: issuer, signingKey } }
  const server = await simulation.run(
    ApiServer.start({ platform, store, build: { version: '0.0.0' }, authentication }),
  )
  t.after(async () => {
    await simulation.run(server.stop())
    await store[Symbol.asyncDispose]()
  })
  const send = async (method: string, path: string, content: object | undefined, token?: string) => {
    const ofToken = { headers: { authorization: `Bearer ${token}` }, peer: {} }
    const parts = { body: content, ...(token !== undefined && ofToken) }
    const { status, body } = await simulation.run(server.handle(apiRequest(method, path, parts)))
    return { status, value: body?.type === 'value' ? body.value : undefined }
  }
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await send('POST', accounts, { metadata: { name: 'web' } })
  await send('POST', '/api/v1/namespaces/default/pods', pod('web', { serviceAccountName: 'web' }))
  const token = async (spec: object): Promise<string> => {
    const { status, value } = await send('POST', `${accounts}/web/token`, { spec })
    assert.equal(status, 201)
    return (value as { status: { token: string } }).status.token
  }
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'web' }
  const startedMs = simulation.nowMs
  const tokens = {
    'ten minutes': await token({ expirationSeconds: 600 }),
    'two hours': await token({ expirationSeconds: 7_200 }),
    // Tokens requested by kubelets have an extended expiry, for programs that read them only once.
    'mounted': await token({ expirationSeconds: 3_607, boundObjectRef }),
  }
  const check = async (second: number, expected: string): Promise<void> => {
    await simulation.run(startedMs + second * 1_000)
    const alive: string[] = []
    for (const [name, each] of Object.entries(tokens)) {
      const { status } = await send('GET', '/api', undefined, each)
      if (status === 200) alive.push(name)
      else assert.equal(status, 401)
    }
    assert.equal(alive.join(', '), expected, `after ${second} seconds`)
  }
  await check(1, 'ten minutes, two hours, mounted')
  await check(659, 'ten minutes, two hours, mounted')
  await check(662, 'two hours, mounted')
  await check(7_259, 'two hours, mounted')
  await check(7_262, 'mounted')
  await check(86_400, 'mounted')
})
