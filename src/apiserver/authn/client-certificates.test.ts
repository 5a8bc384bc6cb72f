import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  ensureCertificate,
  ensureClusterCertificates,
  type CertificateAuthority,
  type ClusterCertificates,
} from '#/kubeadm/certificates.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../../../tests/temporary-folder.ts'
import type { PeerCertificate } from '#/api/transport.ts'
import { ClientCertificates } from './client-certificates.ts'
import { FrontProxy, type FrontProxyOptions } from './front-proxy.ts'
import { apiRequest } from './testdata/token-server.ts'

const options = { platform: nodePlatform({ log: { level: 'error', format: 'text' } }), crypto: nodeCrypto() }
let certificates: ClusterCertificates

before(async context => {
  const folder = await temporaryFolder(context as Parameters<typeof temporaryFolder>[0])
  certificates = await ensureClusterCertificates({ ...options, folder: join(folder, 'pki'), serverNames: [] })
})

async function peerOf(
  ca: CertificateAuthority,
  commonName: string,
  organizations: readonly string[] = [],
): Promise<PeerCertificate> {
  const profile = { commonName, organizations, usage: 'client', names: [] } as const
  const { cert } = await ensureCertificate(options, { profile, ca, existing: undefined })
  return {
    commonName,
    organizations,
    chain: [new X509Certificate(cert).raw, new X509Certificate(ca.cert).raw],
  }
}

test('a client certificate authenticates only if signed by the client CA', async () => {
  const { ca, frontProxyCa } = certificates
  const authenticator = new ClientCertificates({ authorities: ca.cert })
  const check = (certificate: PeerCertificate, expected: string | RegExp): void => {
    const result = authenticator.authenticate(apiRequest('GET', '/', { peer: { certificate } }))
    assert.ok(result)
    if ('failure' in result) assert.match(result.failure, expected as RegExp)
    else assert.equal(result.user.username, expected)
    // The second result comes from the cache.
    assert.equal(authenticator.authenticate(apiRequest('GET', '/', { peer: { certificate } })), result)
  }
  const alice = await peerOf(ca, 'alice', ['dev'])
  const [leaf, root] = alice.chain!
  const notSigned = /signed by unknown authority/
  check(alice, 'alice')
  check({ ...alice, chain: [leaf!] }, 'alice')
  check(await peerOf(frontProxyCa, 'system:admin', ['system:masters']), notSigned)
  check({ ...alice, chain: [] }, notSigned)
  check({ commonName: 'alice', organizations: [] }, notSigned)
  check({ ...alice, chain: [Buffer.from('nonsense'), root!] }, notSigned)
  // The chain contains an authority that did not sign the leaf certificate.
  const stranger = await peerOf(frontProxyCa, 'alice')
  check({ ...alice, chain: [stranger.chain![0]!, root!] }, notSigned)
  check({ ...alice, chain: [stranger.chain![0]!, leaf!, root!] }, notSigned)
})

test('the credential id of a client certificate is its digest', async () => {
  const authenticator = new ClientCertificates({})
  const certificate = await peerOf(certificates.ca, 'alice', ['dev'])
  const result = authenticator.authenticate(apiRequest('GET', '/', { peer: { certificate } }))
  const digest = new X509Certificate(Buffer.from(certificate.chain![0]!)).fingerprint256
    .replaceAll(':', '')
    .toLowerCase()
  assert.deepEqual(result, {
    user: {
      username: 'alice',
      groups: ['dev', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${digest}`] },
    },
  })
})

test('a front proxy authenticates users by headers only with a valid certificate', async () => {
  const { ca, frontProxyCa } = certificates
  const proxy = await peerOf(frontProxyCa, 'front-proxy-client')
  const headers = {
    'x-remote-user': 'alice',
    'x-remote-group': 'CN=dev,OU=x',
    'x-remote-uid': '7',
    'x-remote-extra-acme.com%2Fproject': 'p',
  }
  const check = (
    given: Partial<FrontProxyOptions>,
    certificate: PeerCertificate | undefined,
    sent: object,
    expected: unknown,
  ): void => {
    const authenticator = new FrontProxy({
      authorities: frontProxyCa.cert,
      allowedNames: ['front-proxy-client'],
      ...given,
    })
    const request = apiRequest('GET', '/', { peer: { certificate }, headers: { ...sent } })
    assert.deepEqual(authenticator.authenticate(request), expected)
  }
  const alice = {
    user: { username: 'alice', uid: '7', groups: ['CN=dev,OU=x'], extra: { 'acme.com/project': ['p'] } },
  }
  check({}, proxy, headers, alice)
  check({}, undefined, headers, undefined)
  check({}, proxy, {}, undefined)
  check({}, proxy, { 'x-remote-user': '' }, undefined)
  check({}, await peerOf(ca, 'front-proxy-client'), headers, undefined)
  check({}, await peerOf(frontProxyCa, 'another'), headers, {
    failure: 'front proxy certificate common name is not in the allowed list',
  })
  check({ allowedNames: [] }, await peerOf(frontProxyCa, 'another'), headers, alice)
  check(
    {
      usernameHeaders: ['X-A', 'X-B'],
      groupHeaders: ['X-G', 'X-H'],
      extraHeaderPrefixes: ['X-E-'],
    },
    proxy,
    {
      'x-b': 'bob',
      'x-g': 'g',
      'x-h': 'h',
      'x-e-k': '1',
      'x-e-%zz': '2',
      'x-e-__proto__': '3',
      'x-remote-user': 'alice',
    },
    {
      user: {
        username: 'bob',
        groups: ['g', 'h'],
        extra: Object.fromEntries([
          ['k', ['1']],
          ['%zz', ['2']],
          ['__proto__', ['3']],
        ]),
      },
    },
  )
})

test('each value of a repeated group header is one group', async () => {
  const authenticator = new FrontProxy({
    authorities: certificates.frontProxyCa.cert,
    allowedNames: [],
  })
  const certificate = await peerOf(certificates.frontProxyCa, 'proxy')
  const request = apiRequest('GET', '/', {
    peer: { certificate },
    headers: { 'x-remote-user': 'alice', 'x-remote-group': 'a,b, c' },
  })
  const values: Record<string, string[]> = { 'x-remote-user': ['alice'], 'x-remote-group': ['a,b', 'c'] }
  assert.deepEqual(authenticator.authenticate({ ...request, headerValues: name => values[name] ?? [] }), {
    user: { username: 'alice', groups: ['a,b', 'c'] },
  })
})
