import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { withDecision, type Decision } from './decide-request.ts'

const approval: Decision = { type: 'Approved', opposite: 'Denied', reason: 'KubectlApprove', message: 'yes' }
const time = '2026-01-01T00:00:00Z'

function request(...types: string[]): CertificateSigningRequest {
  const conditions = types.map(type => ({ type, status: 'True' as const }))
  const spec = { request: '', signerName: 'example.com/users' }
  return { metadata: { name: 'jane' }, spec, status: { conditions } }
}

test('a decision is added to the conditions once', () => {
  const decided = withDecision(request('Failed'), { decision: approval, time })
  assert.deepEqual(decided.status?.conditions, [
    { type: 'Failed', status: 'True' },
    { type: 'Approved', status: 'True', reason: 'KubectlApprove', message: 'yes', lastUpdateTime: time },
  ])
  assert.equal(withDecision(decided, { decision: approval, time }), decided)
})

test('a decision cannot be reversed', () => {
  assert.throws(
    () => withDecision(request('Denied'), { decision: approval, time }),
    /certificate signing request "jane" is already Denied/,
  )
})
