/**
 * One of several at a time, by a Lease: who holds it works, the others wait. The holder renews the lease
 * again and again, and stops working when it has not managed to for a time that is shorter than the others
 * wait before they take it. Each measures those times by itself, from the moment it sent or saw something, so
 * that clocks may be wrong. What a Lease says of times is for people to read.
 */
import { isApiError } from '#/api/errors.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { Clock, Platform, Timer } from '#/platform/platform.ts'
import { LinkedAbort } from './abort.ts'
import type { Client } from './client.ts'
import type { EventRecorder } from './event-recorder.ts'
import { claimed, freed, isFree, type ObservedLease } from './leader-election/claim.ts'

export interface LeaderElectionOptions {
  readonly client: Client
  readonly platform: Platform
  readonly lease: { readonly namespace: string; readonly name: string }
  /** Of this life of this process and no other: see `newIdentity`. */
  readonly identity: string
  readonly timings?: LeaderElectionTimings
  /** The work of the leader, until aborted. It must then stop soon: before the others may begin. */
  readonly lead: (signal: AbortSignal) => Promise<void>
  /** Tells people who leads, as an event of the Lease. */
  readonly recorder?: EventRecorder
}

/** Each is well below the one before it. */
export interface LeaderElectionTimings {
  /** How long the others wait after the last renewal that they saw. */
  readonly leaseMs: number
  /** How long the leader works after the last renewal that succeeded. */
  readonly renewMs: number
  readonly retryMs: number
}

const timingsUsual: LeaderElectionTimings = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 }

/** Those who wait try again after up to this part of the time more, so that they do not all try at once. */
const retryJitter = 1.2

export function newIdentity({ random }: Platform, hostName: string): string {
  return `${hostName}_${random.uuid('identity of a leader')}`
}

export class LeaderElection {
  readonly #options: LeaderElectionOptions
  readonly #timings: LeaderElectionTimings
  readonly #clock: Clock
  #observed: ObservedLease | undefined
  /** While this is in the future, nobody else can be the leader. */
  #leaderUntilMs = -Infinity

  constructor(options: LeaderElectionOptions) {
    this.#options = options
    this.#timings = options.timings ?? timingsUsual
    this.#clock = options.platform.clock
  }

  get isLeader(): boolean {
    return this.#clock.monotonicMs() < this.#leaderUntilMs
  }

  /**
   * Competes until aborted, and again after the lead was lost. Ends when the leader's work ends by itself,
   * and throws what that throws.
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
        if (await this.#claim(signal)) {
          log.info('became the leader', { lease: lease.name, identity })
          this.#record('became leader')
          return true
        }
      } catch (error) {
        if (!signal.aborted) log.warn('cannot claim the lease', { lease: lease.name, error })
      }
      const waitMs = this.#timings.retryMs * (1 + retryJitter * random.fraction('wait for a lease'))
      await this.#clock.sleep(waitMs, signal).catch(() => undefined)
    }
    return false
  }

  /** Says whether the work ended by itself. */
  async #lead(signal: AbortSignal): Promise<boolean> {
    const {
      platform: { log },
      lease,
      lead,
    } = this.#options
    using abort = new LinkedAbort(signal)
    const deadline = this.#watchDeadline(abort)
    const renewing = this.#renew(abort)
    let isFinished = false
    try {
      await lead(abort.signal)
      isFinished = !abort.signal.aborted
    } catch (error) {
      if (!abort.signal.aborted) throw error
    } finally {
      abort.abort(new Error('the lead is over'))
      deadline.cancel()
      await renewing
      await this.#release()
      log.info('no longer the leader', { lease: lease.name })
    }
    return isFinished
  }

  /**
   * Aborts the work when the last renewal is too long ago, even if a request is under way that never ends.
   */
  #watchDeadline(abort: LinkedAbort): Timer {
    let timer: Timer | undefined
    const check = (): void => {
      const leftMs = this.#leaderUntilMs - this.#clock.monotonicMs()
      if (leftMs >= 1) timer = this.#clock.setTimer(leftMs, check)
      else abort.abort(new Error('the lease could not be renewed in time'))
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
      await this.#clock.sleep(this.#timings.retryMs, abort.signal).catch(() => undefined)
      if (abort.signal.aborted) return
      try {
        if (await this.#claim(abort.signal)) continue
        if (this.#heldByOther()) return abort.abort(new Error('somebody else holds the lease'))
      } catch (error) {
        if (!abort.signal.aborted) log.warn('cannot renew the lease', { lease: lease.name, error })
      }
    }
  }

  /** Takes or renews the lease; false when it is somebody else's, or somebody else was faster. */
  async #claim(parent: AbortSignal): Promise<boolean> {
    const { client, lease: at, identity } = this.#options
    using abort = new LinkedAbort(parent)
    // Two tries must fit into the time in which a leader has to renew.
    const tryMs = this.#timings.renewMs / 2
    const timer = this.#clock.setTimer(tryMs, () => abort.abort(new Error(`no answer within ${tryMs} ms`)))
    const { signal } = abort
    try {
      const current =
        this.isLeader && this.#observed ? this.#observed.lease : await client.find(leases, at, { signal })
      if (current) this.#observe(current)
      if (current && this.#observed && !isFree(this.#observed, identity, this.#clock.monotonicMs())) {
        return false
      }
      const claim = claimed(current, {
        ...at,
        identity,
        leaseMs: this.#timings.leaseMs,
        nowMs: this.#clock.now(),
      })
      // What counts is when the request left: the server may see it at any time after.
      const sentMs = this.#clock.monotonicMs()
      const written = current
        ? await client.update(leases, claim, { signal })
        : await client.create(leases, claim, { signal })
      this.#observe(written)
      this.#leaderUntilMs = sentMs + this.#timings.renewMs
      return true
    } catch (error) {
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'AlreadyExists')) throw error
      this.#observe(await client.get(leases, at, { signal }))
      return false
    } finally {
      timer.cancel()
    }
  }

  /** The time from which a lease is waited for is when its last change was first seen here. */
  #observe(lease: Lease): void {
    if (lease.metadata?.resourceVersion === this.#observed?.lease.metadata?.resourceVersion) return
    this.#observed = { lease, seenMs: this.#clock.monotonicMs() }
  }

  #heldByOther(): boolean {
    const holder = this.#observed?.lease.spec?.holderIdentity
    return holder !== undefined && holder !== '' && holder !== this.#options.identity
  }

  /** The work has stopped: the others need not wait. */
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
      const timeoutMs = this.#timings.renewMs / 2
      this.#observe(await client.update(leases, freed(lease, this.#clock.now()), { timeoutMs }))
      this.#record('stopped leading')
    } catch (error) {
      log.info('the lease was not released: the others wait until it expires', { lease: name, error })
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
