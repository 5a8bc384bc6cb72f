/** Deletes stale UDP entries from the kernel's connection tracking with the `conntrack` program. */
import type { IpFamily } from '#/api/net/ip.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Log, Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { parseConntrack, planConntrackCleanup, type ConntrackEntry } from './conntrack-entries.ts'
import type { PortPlan } from './plan.ts'

/** Maximum number of entries deleted in one sync; the rest are deleted after the next change. */
const deletionsMax = 1_000

export class Conntrack {
  readonly #linux: Pick<Linux, 'run'>
  readonly #log: Log
  /** Without the program every sync of UDP services fails in the same way. */
  readonly #failures: ThrottledLog
  /** Set when the program was not found, which is logged once. */
  #isMissing = false

  constructor(linux: Pick<Linux, 'run'>, platform: Pick<Platform, 'clock' | 'log'>) {
    this.#linux = linux
    this.#log = platform.log
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
        const command = ['conntrack', '-L', '-p', 'udp', '-f', `ipv${family}`]
        const entries = parseConntrack(await this.#linux.run(command, { signal }))
        const stale = planConntrackCleanup(
          entries,
          ports.filter(port => port.family === family),
        )
        for (const entry of stale.slice(0, deletionsMax)) await this.#delete(family, entry, signal)
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

  async #delete(family: IpFamily, { origDst, replySrc }: ConntrackEntry, signal: AbortSignal): Promise<void> {
    const original = ['--orig-dst', origDst.address, '--orig-port-dst', `${origDst.port}`]
    const reply = ['--reply-src', replySrc.address, '--reply-port-src', `${replySrc.port}`]
    try {
      await this.#linux.run(['conntrack', '-D', '-p', 'udp', '-f', `ipv${family}`, ...original, ...reply], {
        signal,
      })
    } catch (error) {
      // The entry may have expired meanwhile.
      this.#log.debug('Failed to delete conntrack entry', { error })
    }
  }
}
