/** The lifecycle of a CertificateSigningRequest: approved, signed, cleaned up. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { clusterRoleBindings } from '#/api/generated/rbac/v1-resources.ts'
import { ensureClusterCertificates, type KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { csrSigner } from '#/kubeadm/csr-signer.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { certificateApprovingController } from './certificate-approving.ts'
import { certificateCleanerController } from './certificate-cleaner.ts'
import { certificateSigningController, type CertificateToSign } from './certificate-signing.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { testRequest } from './test-certificate-requests.ts'

const kubeletClient = 'kubernetes.io/kube-apiserver-client-kubelet'
const client = 'kubernetes.io/kube-apiserver-client'

type Spec = NonNullable<CertificateSigningRequest['spec']>

/** Generated once, since key generation takes real time. */
let nodeRequest: string
let janeRequest: string

before(async () => {
  nodeRequest = await testRequest({ commonName: 'system:node:n1', organizations: ['system:nodes'] })
  janeRequest = await testRequest({ commonName: 'jane' })
})

function requestOf(signerName: string, spec: Partial<Spec> = {}): CertificateSigningRequest {
  const request = signerName === client ? janeRequest : nodeRequest
  const usages = ['client auth', 'digital signature']
  return { metadata: { name: 'csr' }, spec: { request, usages, signerName, ...spec } }
}

async function stateOf(plane: TestControlPlane): Promise<readonly string[] | undefined> {
  const [request] = await plane.list(certificateSigningRequests)
  if (request === undefined) return undefined
  const conditions = (request.status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`)
  return [...conditions, ...(request.status?.certificate ? ['issued'] : [])]
}

async function decide(plane: TestControlPlane, type: 'Approved' | 'Denied'): Promise<void> {
  const request = await plane.run(plane.client.get(certificateSigningRequests, { name: 'csr' }))
  const lastUpdateTime = new Date(plane.platform.clock.now()).toISOString().replace(/\.\d+/, '')
  const condition = { type, status: 'True', reason: 'Asked', message: 'I know them.', lastUpdateTime }
  const at = { name: 'csr', subresource: 'approval' }
  const decided = { ...request, status: { conditions: [condition] } }
  await plane.run(plane.client.updateSubresource(certificateSigningRequests, at, decided))
  await plane.settle()
}

async function allow(plane: TestControlPlane, group: string, role: string): Promise<void> {
  await plane.create(clusterRoleBindings, {
    metadata: { name: `${group}-${role}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
  })
}

const roles = 'system:certificates.k8s.io:certificatesigningrequests'

test('kubelet client certificate requests with permission are approved', async t => {
  const check = async (user: readonly [string, string], role: string, message: RegExp): Promise<void> => {
    const plane = await startTestControlPlane(t, [certificateApprovingController])
    const [name, group] = user
    await allow(plane, group, 'system:node-bootstrapper')
    const asker = plane.clientAs(name, [group])
    await plane.run(asker.create(certificateSigningRequests, requestOf(kubeletClient)))
    await plane.settle()
    assert.deepEqual(await stateOf(plane), [])
    // Permission granted later takes effect.
    await allow(plane, group, `${roles}:${role}`)
    await plane.advance(20_000)
    assert.deepEqual(await stateOf(plane), ['Approved AutoApproved'])
    const [request] = await plane.list(certificateSigningRequests)
    assert.match(request?.status?.conditions?.[0]?.message ?? '', message)
    assert.ok(request?.status?.conditions?.[0]?.lastUpdateTime)
  }
  const joining = ['system:bootstrap:abcdef', 'system:bootstrappers'] as const
  const running = ['system:node:n1', 'system:nodes'] as const
  await check(joining, 'nodeclient', /^Auto approving kubelet client certificate/)
  await check(running, 'selfnodeclient', /^Auto approving self kubelet client certificate/)
  // Permission for `nodeclient` includes the requester's own certificate.
  await check(running, 'nodeclient', /^Auto approving kubelet client certificate/)
})

test('no other CSR is approved automatically', async t => {
  const others = [
    requestOf(client),
    requestOf(kubeletClient, { usages: ['server auth', 'digital signature'] }),
    requestOf(kubeletClient, { request: janeRequest }),
    requestOf('kubernetes.io/kubelet-serving', { usages: ['server auth', 'digital signature'] }),
    requestOf('example.com/own'),
  ]
  const plane = await startTestControlPlane(t, [certificateApprovingController])
  for (const [index, request] of others.entries()) {
    await plane.create(certificateSigningRequests, { ...request, metadata: { name: `csr-${index}` } })
  }
  const conditions = (await plane.list(certificateSigningRequests)).flatMap(
    each => each.status?.conditions ?? [],
  )
  assert.deepEqual(conditions, [])
  // Members of system:masters have permission for `nodeclient`.
  await plane.create(certificateSigningRequests, requestOf(kubeletClient))
  assert.deepEqual(await stateOf(plane), ['Approved AutoApproved'])
})

test('an approved CSR is signed once for the requested time, others are not', async t => {
  const signed: CertificateToSign[] = []
  const sign = async (certificate: CertificateToSign): Promise<string> => {
    signed.push(certificate)
    return '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  }
  for (const [type, expected] of [
    ['Denied', ['Denied Asked']],
    ['Approved', ['Approved Asked', 'issued']],
  ] as const) {
    const plane = await startTestControlPlane(t, [certificateSigningController({ sign })])
    await plane.create(certificateSigningRequests, requestOf(client, { expirationSeconds: 3_600 }))
    assert.deepEqual(await stateOf(plane), [])
    const nowMs = plane.platform.clock.now()
    await decide(plane, type)
    assert.deepEqual(await stateOf(plane), expected)
    if (type === 'Denied') continue
    const [{ usages, notBeforeMs, notAfterMs } = { usages: [], notBeforeMs: 0, notAfterMs: 0 }] = signed
    assert.deepEqual(usages, ['client auth', 'digital signature'])
    assert.equal(Math.round((nowMs - notBeforeMs) / 1_000), 300)
    assert.equal(Math.round((notAfterMs - nowMs) / 1_000), 3_600)
  }
  assert.equal(signed.length, 1)
})

test('a CSR that the signer rejects gets the Failed condition with the reason', async t => {
  const sign = (): Promise<string> => Promise.reject(new Error('not called'))
  const plane = await startTestControlPlane(t, [certificateSigningController({ sign })])
  await plane.create(certificateSigningRequests, requestOf(client, { usages: ['server auth'] }))
  await decide(plane, 'Approved')
  assert.deepEqual(await stateOf(plane), ['Approved Asked', 'Failed SignerValidationFailure'])
  const [request] = await plane.list(certificateSigningRequests)
  const failed = request?.status?.conditions?.[1]
  assert.equal(failed?.message, 'invalid usage for client certificate: server auth')
})

test('a failing signer is retried, and other signers are ignored', async t => {
  let failures = 2
  const sign = async (): Promise<string> => {
    if (failures-- > 0) throw new Error('the key is locked')
    return '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  }
  for (const [signerName, isIssued] of [
    ['example.com/own', false],
    [client, true],
  ] as const) {
    const plane = await startTestControlPlane(t, [certificateSigningController({ sign })])
    await plane.create(certificateSigningRequests, requestOf(signerName))
    await decide(plane, 'Approved')
    assert.equal((await stateOf(plane))?.includes('issued'), isIssued)
  }
})

test('a certificate signed by the cluster CA is trusted', async t => {
  const crypto = nodeCrypto()
  const authorities: KeyAndCertificate[] = []
  // Signing takes real time, which does not pass on the virtual clock.
  let signing: Promise<string> | undefined
  const plane = await startTestControlPlane(t, [
    certificateSigningController({
      sign: certificate => {
        signing = csrSigner({ platform: plane.platform, crypto }, authorities[0]!)(certificate)
        return signing
      },
    }),
  ])
  const options = { platform: plane.platform, crypto, folder: '/pki', serverNames: [] }
  const made = ensureClusterCertificates(options)
  for (let done = false; !done;) {
    void made.finally(() => (done = true))
    await plane.settle()
  }
  const { cert, key = '' } = (await made).ca
  authorities.push({ cert, key })
  await plane.create(certificateSigningRequests, requestOf(client))
  await decide(plane, 'Approved')
  while (signing === undefined) await plane.settle()
  await signing
  await plane.settle()
  const [request] = await plane.list(certificateSigningRequests)
  const certificate = new X509Certificate(Buffer.from(request?.status?.certificate ?? '', 'base64'))
  assert.equal(certificate.subject, 'CN=jane')
  assert.ok(certificate.verify(new X509Certificate(cert).publicKey))
})

test('CSRs are deleted after they expire', async t => {
  const hourMs = 3_600_000
  for (const [decision, hours] of [
    ['Denied', 1],
    [undefined, 24],
  ] as const) {
    const plane = await startTestControlPlane(t, [certificateCleanerController])
    await plane.create(certificateSigningRequests, requestOf(client))
    if (decision) await decide(plane, decision)
    await plane.advance((hours - 0.1) * hourMs)
    assert.notEqual(await stateOf(plane), undefined)
    await plane.advance(0.2 * hourMs)
    assert.equal(await stateOf(plane), undefined)
  }
})
