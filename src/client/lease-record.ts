/** The Lease object of leader election: when a candidate may take it, and its content after each step. */
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { formatMicroTime } from '#/api/text/time.ts'

export interface ObservedLease {
  readonly lease: Lease
  /** Monotonic time at which this version was first observed. */
  readonly observedMs: number
}

export interface LeaseHolder {
  readonly namespace: string
  readonly name: string
  readonly identity: string
  readonly leaseDurationMs: number
  /** Wall time. */
  readonly nowMs: number
}

/** True if the lease has no holder, is held by `identity`, or was not renewed for its lease duration. */
export function canAcquire({ lease, observedMs }: ObservedLease, identity: string, nowMs: number): boolean {
  const { holderIdentity = '', leaseDurationSeconds = 0 } = lease.spec ?? {}
  if (holderIdentity === '' || holderIdentity === identity) return true
  return nowMs >= observedMs + leaseDurationSeconds * 1_000
}

/** The lease after acquisition or renewal. */
export function acquiredLease(
  current: Lease | undefined,
  { namespace, name, identity, leaseDurationMs, nowMs }: LeaseHolder,
): Lease {
  const now = formatMicroTime(nowMs)
  const { holderIdentity, acquireTime, leaseTransitions = 0 } = current?.spec ?? {}
  const isRenewal = holderIdentity === identity
  return {
    ...current,
    metadata: current?.metadata ?? { namespace, name },
    spec: {
      ...current?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
      acquireTime: isRenewal ? (acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: current === undefined || isRenewal ? leaseTransitions : leaseTransitions + 1,
    },
  }
}

/** The lease after release: without a holder, expiring at once. */
export function releasedLease(lease: Lease, nowMs: number): Lease {
  const now = formatMicroTime(nowMs)
  return {
    ...lease,
    spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now },
  }
}
