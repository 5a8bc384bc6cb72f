import { GrpcError, type GrpcCode } from '#/platform/grpc.ts'

/** Status codes and texts of etcd's errors. */
const errors = {
  'no leader': ['unavailable', 'etcdserver: no leader'],
  'leader changed': ['unavailable', 'etcdserver: leader changed'],
  'timed out': ['unavailable', 'etcdserver: request timed out'],
  'timed out, leader failed': [
    'unavailable',
    'etcdserver: request timed out, possibly due to previous leader failure',
  ],
  'timed out, connection lost': [
    'unavailable',
    'etcdserver: request timed out, possibly due to connection lost',
  ],
  'too many requests': ['resource-exhausted', 'etcdserver: too many requests'],
  'no space': ['resource-exhausted', 'etcdserver: mvcc: database space exceeded'],
  'corrupt': ['data-loss', 'etcdserver: corrupt cluster'],
  'compacted': ['out-of-range', 'etcdserver: mvcc: required revision has been compacted'],
  'future revision': ['out-of-range', 'etcdserver: mvcc: required revision is a future revision'],
  'lease not found': ['not-found', 'etcdserver: requested lease not found'],
  'request too large': ['invalid-argument', 'etcdserver: request is too large'],
  'message too large': ['resource-exhausted', 'grpc: received message larger than max'],
  'unknown method': ['unimplemented', 'unknown method'],
} as const satisfies Readonly<Record<string, readonly [GrpcCode, string]>>

export type EtcdFailure = keyof typeof errors

export function etcdError(failure: EtcdFailure): GrpcError {
  const [code, details] = errors[failure]
  return new GrpcError(code, details, { sent: true })
}
