/**
 * Leader election with a Lease. The holder renews it periodically and stops leading when renewal fails for
 * `renewDeadlineMs`, which is shorter than the `leaseDurationMs` that the other candidates wait before they
 * take over. All durations are measured with the local monotonic clock from the time a request was sent or a
 * change was observed, so clock skew does not matter. The timestamps in the Lease are informational.
 */
import { isApiError } from '#/api/errors.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Clock, Platform, Timer } from '#/platform/platform.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { Client } from './client.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { LeaderElectionMetrics } from './leader-election-metrics.ts'
import { acquiredLease, releasedLease, canAcquire, type ObservedLease } from './lease-record.ts'

export interface LeaderElectionOptions {
  readonly client: Client
  readonly platform: Platform
  readonly lease: { readonly namespace: string; readonly name: string }
  /** Unique for each start of the process: see `newIdentity`. */
  readonly identity: string
  readonly timings?: LeaderElectionTimings
  /** Runs while leading. When aborted it must stop before the lease expires for the other candidates. */
  readonly onStartedLeading: (signal: AbortSignal) => Promise<void>
  /** Records leader changes as events of the Lease. */
  readonly recorder?: EventRecorder
  readonly metrics?: LeaderElectionMetrics | undefined
}

/** Each must be well below the one before it. */
export interface LeaderElectionTimings {
  /** Time that other candidates wait after the last observed renewal. */
  readonly leaseDurationMs: number
  /** Time that the leader continues after the last successful renewal. */
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}

const timingsUsual: LeaderElectionTimings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
}

/** Maximum jitter of candidates, as a factor of `retryPeriodMs`, so that they do not all retry at once. */
const retryJitter = 1.2

export function newIdentity({ random }: Platform, hostName: string): string {
  return `${hostName}_${random.uuid('identity of a leader')}`
}

export class LeaderElector {
  readonly #options: LeaderElectionOptions
  readonly #timings: LeaderElectionTimings
  readonly #clock: Clock
  #observed: ObservedLease | undefined
  /** Before this time no other candidate can be the leader. */
  #leaderUntilMs = -Infinity

  constructor(options: LeaderElectionOptions) {
    this.#options = options
    this.#timings = options.timings ?? timingsUsual
    this.#clock = options.platform.clock
    options.metrics?.setLeader(options.lease.name, false)
  }

  get isLeader(): boolean {
    return this.#clock.monotonicMs() < this.#leaderUntilMs
  }

  /** For a health check: the reason if the lease of this leader has been expired for longer than `toleranceMs`. */
  renewalFailure(toleranceMs: number): string | undefined {
    const { renewDeadlineMs, leaseDurationMs } = this.#timings
    const expiredMs = this.#leaderUntilMs - renewDeadlineMs + leaseDurationMs
    const isLate = expiredMs !== -Infinity && this.#clock.monotonicMs() > expiredMs + toleranceMs
    return isLate ? `failed election to renew leadership on lease ${this.#options.lease.name}` : undefined
  }

  /**
   * Runs elections until aborted; continues after leadership was lost. Returns when `onStartedLeading` returns while
   * leading, and rethrows its error.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (await this.#becomeLeader(signal)) {
      const isFinished = await this.#lead(signal)
      if (isFinished || signal.aborted) return
    }
  }

  /** False when aborted first. */
  async #becomeLeader(signal: AbortSignal): Promise<boolean> {
    const {
      platform: { log, random },
      lease,
      identity,
    } = this.#options
    while (!signal.aborted) {
      try {
        if (await this.#acquireOrRenew(signal)) {
          log.info('Successfully acquired lease', { lease: lease.name, identity })
          this.#record('became leader')
          return true
        }
      } catch (error) {
        if (!signal.aborted) log.warn('Failed to acquire lease', { lease: lease.name, error })
      }
      const waitMs = this.#timings.retryPeriodMs * (1 + retryJitter * random.fraction('wait for a lease'))
      await this.#clock.sleep(waitMs, signal).catch(() => undefined)
    }
    return false
  }

  /** Returns true if `onStartedLeading` returned without having been aborted. */
  async #lead(signal: AbortSignal): Promise<boolean> {
    const {
      platform: { log },
      lease,
      onStartedLeading,
      metrics,
    } = this.#options
    using abort = new LinkedAbort(signal)
    const deadline = this.#watchDeadline(abort)
    const renewing = this.#renew(abort)
    metrics?.setLeader(lease.name, true)
    let isFinished = false
    try {
      await onStartedLeading(abort.signal)
      isFinished = !abort.signal.aborted
    } catch (error) {
      if (!abort.signal.aborted) throw error
    } finally {
      abort.abort(new Error('stopped leading'))
      metrics?.setLeader(lease.name, false)
      deadline.cancel()
      await renewing
      await this.#release()
      log.info('Stopped leading', { lease: lease.name })
    }
    return isFinished
  }

  /** Aborts `onStartedLeading` when the renew deadline has passed, even if a renewal request hangs. */
  #watchDeadline(abort: LinkedAbort): Timer {
    let timer: Timer | undefined
    const check = (): void => {
      const leftMs = this.#leaderUntilMs - this.#clock.monotonicMs()
      if (leftMs >= 1) timer = this.#clock.setTimer(leftMs, check)
      else abort.abort(new Error('failed to renew lease within the renew deadline'))
    }
    check()
    return { cancel: () => timer?.cancel() }
  }

  async #renew(abort: LinkedAbort): Promise<void> {
    const {
      platform: { log },
      lease,
    } = this.#options
    while (!abort.signal.aborted) {
      await this.#clock.sleep(this.#timings.retryPeriodMs, abort.signal).catch(() => undefined)
      if (abort.signal.aborted) return
      try {
        if (await this.#acquireOrRenew(abort.signal)) continue
        if (this.#heldByOther()) return abort.abort(new Error('lease is held by another candidate'))
      } catch (error) {
        if (!abort.signal.aborted) log.warn('Failed to renew lease', { lease: lease.name, error })
      }
    }
  }

  /** Acquires or renews the lease; false when another candidate holds it or won the race. */
  async #acquireOrRenew(parent: AbortSignal): Promise<boolean> {
    const { client, lease: at, identity } = this.#options
    using abort = new LinkedAbort(parent)
    // Two attempts must fit into the renew deadline.
    const tryMs = this.#timings.renewDeadlineMs / 2
    const timer = this.#clock.setTimer(tryMs, () => abort.abort(new Error(`no response within ${tryMs} ms`)))
    const { signal } = abort
    try {
      const current =
        this.isLeader && this.#observed ? this.#observed.lease : await client.find(leases, at, { signal })
      if (current) this.#observe(current)
      if (current && this.#observed && !canAcquire(this.#observed, identity, this.#clock.monotonicMs())) {
        return false
      }
      const acquired = acquiredLease(current, {
        ...at,
        identity,
        leaseDurationMs: this.#timings.leaseDurationMs,
        nowMs: this.#clock.now(),
      })
      // Measured from when the request was sent: the server may process it at any time after.
      const sentMs = this.#clock.monotonicMs()
      const written = current
        ? await client.update(leases, acquired, { signal })
        : await client.create(leases, acquired, { signal })
      this.#observe(written)
      this.#leaderUntilMs = sentMs + this.#timings.renewDeadlineMs
      return true
    } catch (error) {
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'AlreadyExists')) throw error
      if (this.isLeader) this.#options.metrics?.slowpath(at.name)
      this.#observe(await client.get(leases, at, { signal }))
      return false
    } finally {
      timer.cancel()
    }
  }

  /** The lease duration counts from when its last change was first observed here. */
  #observe(lease: Lease): void {
    if (lease.metadata.resourceVersion === this.#observed?.lease.metadata.resourceVersion) return
    this.#observed = { lease, observedMs: this.#clock.monotonicMs() }
  }

  #heldByOther(): boolean {
    const holder = this.#observed?.lease.spec?.holderIdentity
    return holder !== undefined && holder !== '' && holder !== this.#options.identity
  }

  /** `onStartedLeading` has returned, so the other candidates need not wait for the lease to expire. */
  async #release(): Promise<void> {
    const {
      client,
      identity,
      platform: { log },
      lease: { name },
    } = this.#options
    const lease = this.#observed?.lease
    const isOurs = this.isLeader && lease?.spec?.holderIdentity === identity
    this.#leaderUntilMs = -Infinity
    if (!isOurs) return
    try {
      const timeoutMs = this.#timings.renewDeadlineMs / 2
      this.#observe(await client.update(leases, releasedLease(lease, this.#clock.now()), { timeoutMs }))
      this.#record('stopped leading')
    } catch (error) {
      log.info('Failed to release lease', { lease: name, error })
    }
  }

  #record(what: string): void {
    const { recorder, identity } = this.#options
    const lease = this.#observed?.lease
    if (lease) {
      recorder?.record(lease, { type: 'Normal', reason: 'LeaderElection', message: `${identity} ${what}` })
    }
  }
}
