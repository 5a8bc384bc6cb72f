import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrpcError, type GrpcCode } from '#/platform/grpc.ts'
import { combineFailures, etcdMembersErrorOf, type EtcdMembersReason } from './etcd-members-error.ts'

const errorOf = (code: GrpcCode, details: string) => {
  return etcdMembersErrorOf(new GrpcError(code, details, { sent: true }), 'https://10.0.0.1:2379')
}

test("etcd's errors about members have a reason", () => {
  const check = (code: GrpcCode, details: string, expected: EtcdMembersReason): void => {
    assert.equal(errorOf(code, details).reason, expected, details)
  }
  const failed = 'failed-precondition'
  check(
    failed,
    'etcdserver: can only promote a learner member which is in sync with leader',
    'learner-not-ready',
  )
  check(failed, 'etcdserver: can only promote a learner member', 'not-learner')
  check(failed, 'etcdserver: Peer URLs already exists', 'member-exists')
  check(failed, 'etcdserver: member ID already exist', 'member-exists')
  check('not-found', 'etcdserver: member not found', 'member-not-found')
  check(failed, 'etcdserver: too many learner members in cluster', 'too-many-learners')
  check('unavailable', 'etcdserver: unhealthy cluster', 'unhealthy')
  check(failed, 'etcdserver: re-configuration failed due to not enough started members', 'unhealthy')
  check('unavailable', 'etcdserver: no leader', 'no-quorum')
  check('unavailable', 'etcdserver: request timed out, possibly due to connection lost', 'no-quorum')
  // etcd 3.4 and 3.5 have different codes.
  check('unavailable', 'etcdserver: rpc not supported for learner', 'unavailable')
  check(failed, 'etcdserver: rpc not supported for learner', 'unavailable')
  check('deadline-exceeded', 'Deadline exceeded', 'unavailable')
  check('unknown', 'context deadline exceeded', 'unavailable')
  check('unavailable', 'no target can be reached: connect ECONNREFUSED 10.0.0.1:2379', 'unavailable')
  check('unavailable', 'no target can be reached: unable to verify the first certificate', 'untrusted')
  check('unavailable', 'no target can be reached: self-signed certificate in chain', 'untrusted')
  check('permission-denied', 'etcdserver: permission denied', 'refused')
})

test('the failure of all endpoints has the most telling reason', () => {
  const down = errorOf('unavailable', 'no target can be reached')
  const leaderless = errorOf('unavailable', 'etcdserver: no leader')
  const untrusted = errorOf('unavailable', 'unable to verify the first certificate')
  assert.equal(combineFailures([down, leaderless]).reason, 'no-quorum')
  assert.equal(combineFailures([down, untrusted]).reason, 'unavailable')
  assert.equal(combineFailures([untrusted, untrusted]).reason, 'untrusted')
  assert.equal(
    combineFailures([down]).message,
    'etcd cannot be reached: https://10.0.0.1:2379: no target can be reached',
  )
})
