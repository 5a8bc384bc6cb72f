/** Deletes stale UDP entries from the kernel's connection tracking with the `conntrack` program. */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Clock, Log, Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { parseConntrack, planConntrackCleanup, type ConntrackEntry } from './conntrack-entries.ts'
import type { PortPlan } from './plan.ts'

/** Maximum number of entries deleted in one sync; the rest are deleted after the next change. */
const deletionsMax = 1_000

/** Called after the entries of a family were reconciled. */
type OnReconciled = (family: IpFamily, seconds: number, deleted: number) => void

export class Conntrack {
  readonly #linux: Pick<Linux, 'run'>
  readonly #log: Log
  readonly #onReconciled: OnReconciled
  readonly #clock: Clock
  /** Without the program every sync of UDP services fails in the same way. */
  readonly #failures: ThrottledLog
  /** Set when the program was not found, which is logged once. */
  #isMissing = false

  constructor(
    linux: Pick<Linux, 'run'>,
    platform: Pick<Platform, 'clock' | 'log'>,
    onReconciled: OnReconciled = () => undefined,
  ) {
    this.#linux = linux
    this.#log = platform.log
    this.#clock = platform.clock
    this.#onReconciled = onReconciled
    this.#failures = new ThrottledLog(platform)
  }

  /** Errors are only logged: stale entries expire when their clients stop sending. */
  async deleteStaleEntries(
    families: readonly IpFamily[],
    ports: readonly PortPlan[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for (const family of families) {
        const beganMs = this.#clock.monotonicMs()
        const command = ['conntrack', '-L', '-p', 'udp', '-f', `ipv${family}`]
        const entries = parseConntrack(await this.#linux.run(command, { signal }))
        const stale = planConntrackCleanup(
          entries,
          ports.filter(port => port.family === family),
        )
        let deleted = 0
        for (const entry of stale.slice(0, deletionsMax))
          if (await this.#delete(family, entry, signal)) deleted++
        this.#onReconciled(family, (this.#clock.monotonicMs() - beganMs) / 1_000, deleted)
      }
    } catch (error) {
      if (!signal.aborted) this.#warn(error)
    }
  }

  #warn(error: unknown): void {
    if ((error as { readonly code?: unknown }).code !== 'ENOENT') {
      return this.#failures.warn('failed', 'Failed to delete stale conntrack entries', { error })
    }
    if (this.#isMissing) return
    this.#isMissing = true
    this.#failures.warn('missing', 'conntrack is not installed: stale UDP entries are not deleted')
  }

  async #delete(
    family: IpFamily,
    { origDst, replySrc }: ConntrackEntry,
    signal: AbortSignal,
  ): Promise<boolean> {
    const original = ['--orig-dst', origDst.address, '--orig-port-dst', `${origDst.port}`]
    const reply = ['--reply-src', replySrc.address, '--reply-port-src', `${replySrc.port}`]
    try {
      await this.#linux.run(['conntrack', '-D', '-p', 'udp', '-f', `ipv${family}`, ...original, ...reply], {
        signal,
      })
      return true
    } catch (error) {
      // The entry may have expired meanwhile.
      this.#log.debug('Failed to delete conntrack entry', { error })
      return false
    }
  }
}
