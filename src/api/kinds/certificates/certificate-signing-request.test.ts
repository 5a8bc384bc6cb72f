import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateSigningRequest } from '../../generated/certificates/v1.ts'
import { formatFieldError } from '../../field-error.ts'
import { underTest } from '../testdata/check-rules.ts'
import { certificateSigningRequestRules } from './certificate-signing-request.ts'

const { check, checkUpdate, checkStatus } = underTest(certificateSigningRequestRules)

function pem(type: string, content = 'TUlJQg=='): string {
  return Buffer.from(`-----BEGIN ${type}-----\n${content}\n-----END ${type}-----\n`).toString('base64')
}

const spec = {
  request: pem('CERTIFICATE REQUEST'),
  signerName: 'kubernetes.io/kube-apiserver-client',
  usages: ['client auth'],
}
const approved = { type: 'Approved', status: 'True' }
const denied = { type: 'Denied', status: 'True' }

function request(change: object, status?: object): CertificateSigningRequest {
  return { metadata: {}, spec: { ...spec, ...change }, ...(status && { status }) }
}

test('spec.request of a CSR must be a PEM certificate request', () => {
  check(request({}))
  const refused = 'PEM block type must be CERTIFICATE REQUEST'
  check(request({ request: 'TUlJQg==' }), `spec.request: Invalid value: "TUlJQg==": ${refused}`)
  check(request({ request: pem('CERTIFICATE') }), 'spec.request: Invalid value: ')
  check(request({ request: pem('CERTIFICATE REQUEST', 'not base64!') }), 'spec.request: Invalid value: ')
  check(
    {},
    `spec.request: Invalid value: null: ${refused}`,
    'spec.usages: Required value',
    'spec.signerName: Required value',
  )
})

test('a CSR requires a signer name, usages and a valid expiration', () => {
  check(
    request({ signerName: 'plain' }),
    'spec.signerName: Invalid value: "plain": must be a fully qualified',
  )
  check(
    request({ signerName: 'a/b' }),
    'spec.signerName: Invalid value: "a": should be a domain with at least two',
  )
  check(
    request({ signerName: 'example.com/B' }),
    'spec.signerName: Invalid value: "B": validating label "B": ',
  )
  check(
    request({ signerName: 'kubernetes.io/legacy-unknown' }),
    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this',
  )
  check(request({ usages: ['client auth', 'client auth'] }), 'spec.usages[1]: Duplicate value: "client auth"')
  check(
    request({ usages: ['x'] }),
    'spec.usages[0]: Unsupported value: "x": supported values: "any", "cert sign"',
  )
  check(
    request({ expirationSeconds: 599 }),
    'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
  )
})

test('user fields of a CSR sent by the client are cleared', () => {
  const prepared = certificateSigningRequestRules.prepareForCreate?.(
    request({ username: 'root', groups: ['a'] }),
  )
  assert.deepEqual(prepared, request({}))
})

test('an update resets the spec of a CSR', () => {
  checkUpdate(request({ usages: [] }), request({}))
})

test('conditions Approved and Denied are set only through the approval subresource', () => {
  const old = request({}, { conditions: [] })
  const after = (conditions: readonly object[]) => request({}, { conditions })
  checkStatus(
    after([approved]),
    old,
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  )
  checkStatus(
    old,
    after([denied]),
    'status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
  )
  checkStatus(after([{ ...approved, message: 'changed' }]), after([approved]))
  const approval = certificateSigningRequestRules.subresources?.['approval']
  const approve = (conditions: readonly object[]) => {
    return approval?.validate?.(after(conditions), old).map(formatFieldError)
  }
  assert.deepEqual(approve([approved]), [])
  assert.deepEqual(approve([approved, denied]), [
    'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
  ])
  assert.deepEqual(approve([approved, approved]), ['status.conditions[1].type: Duplicate value: "Approved"'])
  assert.deepEqual(approve([{ ...approved, status: 'False' }, {}]), [
    'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    'status.conditions[1].type: Required value',
    'status.conditions[1].status: Required value',
  ])
  const stored = request({}, { certificate: 'x' })
  const sent = request({ usages: ['any'] }, { certificate: 'y', conditions: [approved] })
  const now = '2026-01-01T00:00:00Z'
  const timed = { ...approved, lastUpdateTime: now, lastTransitionTime: now }
  const metadata = { annotations: { by: 'hand' } }
  assert.deepEqual(approval?.merge(stored, { ...sent, metadata }, now), {
    ...request({}, { certificate: 'x', conditions: [timed] }),
    metadata,
  })
})

test('transition times of CSR conditions are set by the server', () => {
  const [then, now] = ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z']
  const failed = { type: 'Failed', status: 'True' }
  const old = request({}, { conditions: [{ ...failed, lastTransitionTime: then }] })
  const after = request({}, { conditions: [failed, { type: 'Odd', status: 'False' }] })
  assert.deepEqual(
    certificateSigningRequestRules.prepareForStatusUpdate?.(after, old, now),
    request(
      {},
      {
        conditions: [
          { ...failed, lastUpdateTime: now, lastTransitionTime: then },
          { type: 'Odd', status: 'False', lastUpdateTime: now, lastTransitionTime: now },
        ],
      },
    ),
  )
})

test('status.certificate must be PEM and is immutable once set', () => {
  const issued = (certificate: string) => request({}, { certificate })
  checkStatus(issued(pem('CERTIFICATE')), request({}))
  checkStatus(
    issued(pem('CERTIFICATE', 'AAAA')),
    issued(pem('CERTIFICATE')),
    'status.certificate: Forbidden: updates may not modify existing certificate content',
  )
  checkStatus(
    issued(pem('PRIVATE KEY')),
    request({}),
    'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "PRIVATE',
  )
  checkStatus(
    issued(pem('CERTIFICATE', 'A: b\n\nAAAA')),
    request({}),
    'status.certificate: Invalid value: "<certificate data>": no PEM block headers are permitted',
  )
  checkStatus(
    issued('AAAA'),
    request({}),
    'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
  )
})

test('CSRs can be selected by spec.signerName', () => {
  const signer = certificateSigningRequestRules.selectableFields?.['spec.signerName']
  assert.equal(signer?.(request({})), spec.signerName)
})
