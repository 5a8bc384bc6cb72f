/** Failures of requests about the members of an etcd cluster, by reason. etcd tells most of them apart only by text. */
import { messageOf } from '#/base/message-of.ts'
import { GrpcError } from '#/platform/grpc.ts'

export type EtcdMembersReason =
  /** A learner that is still receiving the log of the leader cannot be promoted. */
  | 'learner-not-ready'
  /** The member to promote has a vote already. */
  | 'not-learner'
  /** A member with these peer URLs exists. */
  | 'member-exists'
  | 'member-not-found'
  /** etcd allows one learner at a time by default. */
  | 'too-many-learners'
  /** The cluster works, but the change could cost it its quorum: a member is down, or has been up for seconds only. */
  | 'unhealthy'
  | 'no-quorum'
  /** TLS failed: a certificate of another CA, or for another address. */
  | 'untrusted'
  /** No response. */
  | 'unavailable'
  /** Any other answer. */
  | 'refused'

export class EtcdMembersError extends Error {
  readonly reason: EtcdMembersReason
  constructor(reason: EtcdMembersReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EtcdMembersError'
    this.reason = reason
  }
}

/** Of this reason; of any when it is absent. */
export function isEtcdMembersError(error: unknown, reason?: EtcdMembersReason): error is EtcdMembersError {
  return error instanceof EtcdMembersError && (reason === undefined || error.reason === reason)
}

/** etcd's texts, after `etcdserver: `. */
const texts: readonly (readonly [EtcdMembersReason, RegExp])[] = [
  ['learner-not-ready', /in sync with leader/],
  ['not-learner', /can only promote a learner member/],
  ['member-exists', /member ID already exist|Peer URLs already exists/i],
  ['member-not-found', /member not found/],
  ['too-many-learners', /too many learner members/],
  ['unhealthy', /unhealthy cluster|not enough started members/],
  // A learner answers neither linearizable reads nor requests about members; another endpoint does.
  ['unavailable', /not supported for learner|not leader|server stopped|context deadline exceeded/],
  ['no-quorum', /no leader|request timed out|leader changed/],
]

const tlsFailure = /certificate|self.signed|altnames|unknown ca|\balert\b/i

export function etcdMembersErrorOf(error: unknown, endpoint: string): EtcdMembersError {
  const { code, details } =
    error instanceof GrpcError ? error : { code: 'unknown' as const, details: messageOf(error) }
  const known = texts.find(([, pattern]) => pattern.test(details))?.[0]
  const isUnreachable = code === 'unavailable' || code === 'deadline-exceeded' || code === 'cancelled'
  const reason =
    known ?? (isUnreachable ? (tlsFailure.test(details) ? 'untrusted' : 'unavailable') : 'refused')
  const text =
    code === 'deadline-exceeded' || details === 'context deadline exceeded' ? 'no answer in time' : details
  const remedy = reason === 'untrusted' ? '; are its certificates and ours of the same etcd CA?' : ''
  return new EtcdMembersError(reason, `${endpoint}: ${text}${remedy}`, { cause: error })
}

/** Whether another endpoint, or the same one later, may answer. */
export function isRepeatable({ reason }: EtcdMembersError): boolean {
  return reason === 'unavailable' || reason === 'no-quorum' || reason === 'untrusted'
}

/** The failure of a request that was tried on all endpoints. */
export function combineFailures(failures: readonly EtcdMembersError[]): EtcdMembersError {
  const [first] = failures
  const isQuorumLost = failures.some(({ reason }) => reason === 'no-quorum')
  const isUntrusted = failures.every(({ reason }) => reason === 'untrusted')
  const reason = isQuorumLost ? 'no-quorum' : isUntrusted ? 'untrusted' : 'unavailable'
  const summary = {
    'no-quorum': 'the etcd cluster has no quorum',
    'untrusted': 'no TLS connection to etcd',
    'unavailable': 'etcd cannot be reached',
  }[reason]
  return new EtcdMembersError(reason, `${summary}: ${failures.map(({ message }) => message).join(', ')}`, {
    cause: first,
  })
}
