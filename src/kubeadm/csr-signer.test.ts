import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { before, test } from 'node:test'
import { testRequest, type TestRequest } from '#/controllers/test-certificate-requests.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'
import { issueCaCertificate } from './certificates/issue.ts'
import type { KeyAndCertificate } from './certificates.ts'
import { csrSigner, type SigningRequest } from './csr-signer.ts'

const platform = new Simulation({ seed: 1 }).host('signer')
const options = { platform, crypto: nodeCrypto() }
const nowMs = platform.clock.now()
let ca: KeyAndCertificate

before(async () => {
  ca = await issueCaCertificate(options, 'kubernetes')
})

async function sign(request: TestRequest, wanted: Partial<SigningRequest> = {}): Promise<X509Certificate> {
  const pem = Buffer.from(await testRequest(request), 'base64').toString()
  const notAfterMs = nowMs + 3_600_000
  const usages = ['client auth', 'digital signature']
  const certificate = { request: pem, usages, notBeforeMs: nowMs - 300_000, notAfterMs, ...wanted }
  return new X509Certificate(await csrSigner(options, ca)(certificate))
}

test('a signed certificate has the subject of the request and the CA as issuer, for every key type', async () => {
  for (const key of ['P-256', 'RSA', 'Ed25519'] as const) {
    const certificate = await sign({ key, commonName: 'jane', organizations: ['developers', 'night shift'] })
    const issuer = new X509Certificate(ca.cert)
    assert.equal(certificate.subject, 'O=developers\nO=night shift\nCN=jane')
    assert.equal(certificate.issuer, 'CN=kubernetes')
    assert.ok(certificate.checkIssued(issuer))
    assert.ok(certificate.verify(issuer.publicKey))
    assert.equal(certificate.ca, false)
    assert.deepEqual(certificate.validFromDate, new Date(nowMs - 300_000))
    assert.deepEqual(certificate.validToDate, new Date(nowMs + 3_600_000))
    assert.equal(certificate.subjectAltName, undefined)
  }
})

test('two certificates have different serial numbers', async () => {
  const [first, second] = [await sign({ commonName: 'a' }), await sign({ commonName: 'a' })]
  assert.notEqual(first.serialNumber, second.serialNumber)
  assert.equal(first.serialNumber.length, 32)
})

test('subject alternative names of every type are copied', async () => {
  const certificate = await sign({
    commonName: 'system:node:n1',
    names: [
      { type: 'dns', value: 'n1.example.com' },
      { type: 'ip', value: '10.0.0.7' },
      { type: 'ip', value: 'fd00::7' },
      { type: 'email', value: 'n1@example.com' },
      { type: 'url', value: 'spiffe://n1' },
    ],
  })
  assert.equal(
    certificate.subjectAltName,
    'DNS:n1.example.com, IP Address:10.0.0.7, IP Address:FD00:0:0:0:0:0:0:7, email:n1@example.com, URI:spiffe://n1',
  )
})

test('a certificate has the requested usages', async () => {
  const usagesOf = async (usages: readonly string[]): Promise<readonly string[] | undefined> => {
    return (await sign({ commonName: 'a' }, { usages })).keyUsage
  }
  assert.deepEqual(await usagesOf(['digital signature', 'client auth']), ['1.3.6.1.5.5.7.3.2'])
  assert.deepEqual(await usagesOf(['server auth', 'client auth', 'server auth']), [
    '1.3.6.1.5.5.7.3.1',
    '1.3.6.1.5.5.7.3.2',
  ])
  assert.deepEqual(await usagesOf(['any', 's/mime', 'email protection']), [
    '2.5.29.37.0',
    '1.3.6.1.5.5.7.3.4',
  ])
  assert.equal(await usagesOf(['digital signature']), undefined)
  await assert.rejects(sign({ commonName: 'a' }, { usages: ['fly'] }), /unknown usage fly/)
})

test('a certificate does not outlive its CA, and an expired CA does not sign', async () => {
  const endMs = new X509Certificate(ca.cert).validToDate.getTime()
  const certificate = await sign({ commonName: 'a' }, { notAfterMs: endMs + 3_600_000 })
  assert.equal(certificate.validToDate.getTime(), endMs)
  const simulation = new Simulation({ seed: 1 })
  const late = simulation.host('late')
  await simulation.advance(endMs - nowMs + 1_000)
  const signer = csrSigner({ ...options, platform: late }, ca)
  const request = Buffer.from(await testRequest({ commonName: 'a' }), 'base64').toString()
  const wanted = { request, usages: [], notBeforeMs: endMs, notAfterMs: endMs + 1 }
  await assert.rejects(signer(wanted), /CA certificate expired/)
})

test('a certificate request must be signed with its own key', async () => {
  const request = Buffer.from(await testRequest({ commonName: 'jane' }), 'base64').toString()
  const bytes = Buffer.from(request.replaceAll(/-----.*-----/g, ''), 'base64')
  bytes.write('john', bytes.indexOf('jane'))
  const type = 'CERTIFICATE REQUEST'
  const changed = `-----BEGIN ${type}-----\n${bytes.toString('base64')}\n-----END ${type}-----\n`
  const wanted = { request: changed, usages: [], notBeforeMs: nowMs, notAfterMs: nowMs + 1 }
  await assert.rejects(csrSigner(options, ca)(wanted), /signature does not match its public key/)
})
