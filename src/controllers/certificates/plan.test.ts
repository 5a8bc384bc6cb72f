import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { formatTime } from '#/api/text/time.ts'
import { testRequest } from '../test-certificate-requests.ts'
import { readCertificateRequest, type CertificateRequest } from './certificate-request.ts'
import { requestExpiresAtMs } from '../certificate-cleaner.ts'
import { validatorForSigner } from './signers.ts'
import { planValidity } from '../certificate-signing.ts'

test('subject and names are read from a certificate request; invalid input gives undefined', async () => {
  const request = await testRequest({
    commonName: 'system:node:n1',
    organizations: ['system:nodes', 'x'],
    names: [
      { type: 'dns', value: 'n1' },
      { type: 'ip', value: '10.0.0.7' },
      { type: 'email', value: 'a@b' },
      { type: 'url', value: 'spiffe://n1' },
    ],
  })
  assert.deepEqual(await readCertificateRequest(request), {
    commonName: 'system:node:n1',
    organizations: ['system:nodes', 'x'],
    names: { dns: ['n1'], ip: ['10.0.0.7'], email: ['a@b'], uri: ['spiffe://n1'] },
  })
  const none = { commonName: '', organizations: [], names: { dns: [], ip: [], email: [], uri: [] } }
  assert.deepEqual(await readCertificateRequest(await testRequest({})), none)
  const pem = (type: string, text: string): string => {
    return Buffer.from(`-----BEGIN ${type}-----\n${text}\n-----END ${type}-----\n`).toString('base64')
  }
  for (const text of [
    '',
    '!!',
    pem('CERTIFICATE', 'AAAA'),
    pem('CERTIFICATE REQUEST', 'AAAA'),
    request.slice(0, 200),
  ]) {
    assert.equal(await readCertificateRequest(text), undefined, text)
  }
})

const node: CertificateRequest = {
  commonName: 'system:node:n1',
  organizations: ['system:nodes'],
  names: { dns: [], ip: [], email: [], uri: [] },
}

test('each signer accepts only requests with its subject, names and usages', () => {
  const check = (
    signer: string,
    usages: string,
    change: Partial<CertificateRequest>,
    expected: string | undefined,
  ): void => {
    const validate = validatorForSigner(`kubernetes.io/${signer}`)
    assert.equal(validate?.({ ...node, ...change }, usages.split(', ')), expected, `${signer} ${usages}`)
  }
  const named = (names: Partial<CertificateRequest['names']>): Partial<CertificateRequest> => {
    return { names: { ...node.names, ...names } }
  }
  const client = 'client auth, digital signature'
  const kubelet = 'kube-apiserver-client-kubelet'
  check(kubelet, client, {}, undefined)
  check(kubelet, `key encipherment, ${client}`, {}, undefined)
  const mismatch = 'usages did not match [client auth digital signature key encipherment]'
  check(kubelet, 'client auth', {}, mismatch)
  check(kubelet, `${client}, server auth`, {}, mismatch)
  check(kubelet, `${client}, key encipherment, server auth`, {}, mismatch)
  check(kubelet, client, { organizations: [] }, 'subject organization is not system:nodes')
  check(
    kubelet,
    client,
    { organizations: ['system:nodes', 'system:masters'] },
    'subject organization is not system:nodes',
  )
  check(kubelet, client, { commonName: 'jane' }, 'subject common name does not begin with system:node:')
  check(kubelet, client, named({ dns: ['a'] }), 'DNS subjectAltNames are not allowed')
  check(kubelet, client, named({ email: ['a'] }), 'Email subjectAltNames are not allowed')
  check(kubelet, client, named({ ip: ['a'] }), 'IP subjectAltNames are not allowed')
  check(kubelet, client, named({ uri: ['a'] }), 'URI subjectAltNames are not allowed')

  const serving = 'server auth, digital signature'
  check('kubelet-serving', serving, named({ dns: ['a'] }), undefined)
  check('kubelet-serving', `${serving}, key encipherment`, named({ ip: ['a'] }), undefined)
  check('kubelet-serving', serving, {}, 'DNS or IP subjectAltName is required')
  check('kubelet-serving', serving, named({ dns: ['a'], uri: ['b'] }), 'URI subjectAltNames are not allowed')
  check(
    'kubelet-serving',
    client,
    named({ dns: ['a'] }),
    'usages did not match [digital signature key encipherment server auth]',
  )
  check(
    'kubelet-serving',
    serving,
    { ...named({ dns: ['a'] }), commonName: 'a' },
    'subject common name does not begin with system:node:',
  )

  check('kube-apiserver-client', 'client auth', { commonName: 'jane', organizations: [] }, undefined)
  check('kube-apiserver-client', `${client}, key encipherment`, {}, undefined)
  check(
    'kube-apiserver-client',
    'digital signature',
    {},
    'missing required usage for client certificate: client auth',
  )
  check(
    'kube-apiserver-client',
    'client auth, cert sign',
    {},
    'invalid usage for client certificate: cert sign',
  )
  check('legacy-unknown', 'cert sign', { organizations: [] }, undefined)
  assert.equal(validatorForSigner('example.com/own'), undefined)
})

test('a certificate is valid for the requested time, within limits, with backdating', () => {
  const minute = 60_000
  const hour = 60 * minute
  const check = (
    asked: number | undefined,
    before: number,
    after: number,
    durationMs = 8_760 * hour,
  ): void => {
    const { notBeforeMs, notAfterMs } = planValidity({
      expirationSeconds: asked && asked / 1_000,
      nowMs: 0,
      durationMs,
    })
    assert.deepEqual([-notBeforeMs, notAfterMs], [before, after])
  }
  check(undefined, 5 * minute, 8_760 * hour - 5 * minute)
  check(8 * hour, 5 * minute, 8 * hour - 5 * minute)
  check(7 * hour, 5 * minute, 7 * hour)
  check(10 * minute, 5 * minute, 10 * minute)
  check(1_000, 5 * minute, 10 * minute)
  check(9_000 * hour, 5 * minute, 8_760 * hour - 5 * minute)
  check(24 * hour, 5 * minute, hour, hour)
  check(undefined, 5 * minute, hour, hour)
})

test('a decided CSR expires after one hour, a pending one after a day', () => {
  const spec = { request: '', signerName: 'x/y' }
  const check = (status: CertificateSigningRequest['status'], expected: string): void => {
    const ms = requestExpiresAtMs({ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' }, spec, status })
    assert.equal(ms === Infinity ? 'never' : formatTime(ms), expected, JSON.stringify(status))
  }
  const condition = (type: string, lastUpdateTime = '') => ({ type, status: 'True', lastUpdateTime })
  const noon = '2026-01-01T12:00:00Z'
  check(undefined, '2026-01-02T00:00:00Z')
  check({ conditions: [] }, '2026-01-02T00:00:00Z')
  check({ conditions: [condition('Denied', noon)] }, '2026-01-01T13:00:00Z')
  check({ conditions: [condition('Approved', noon)] }, '2026-01-02T12:00:00Z')
  check({ conditions: [condition('Approved', noon)], certificate: 'eA==' }, '2026-01-01T13:00:00Z')
  const failed = [condition('Approved', noon), condition('Failed', '2026-01-01T14:00:00Z')]
  check({ conditions: failed }, '2026-01-01T15:00:00Z')
  check({ conditions: [condition('Approved')] }, 'never')
  check({ conditions: [condition('Looked', noon)] }, 'never')
})
