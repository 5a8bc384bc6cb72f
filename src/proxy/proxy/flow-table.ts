import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'
import type { IpFamily } from '#/api/ip.ts'
import type { PortPlan } from '../plan.ts'
import { parseFlows, planStaleFlows, type Flow } from './stale-flows.ts'

/** Maximum number of entries deleted in one sync; the rest are deleted after the next change. */
const pairsMax = 1_000

/** Deletes stale UDP entries from conntrack. */
export class FlowTable {
  readonly #linux: Pick<Linux, 'run'>
  readonly #log: Log

  constructor(linux: Pick<Linux, 'run'>, log: Log) {
    this.#linux = linux
    this.#log = log
  }

  /** Errors are only logged: stale entries expire when their clients stop sending. */
  async clean(families: readonly IpFamily[], ports: readonly PortPlan[], signal: AbortSignal): Promise<void> {
    try {
      for (const family of families) {
        const command = ['conntrack', '-L', '-p', 'udp', '-f', `ipv${family}`]
        const flows = parseFlows(await this.#linux.run(command, { signal }))
        const stale = planStaleFlows(
          flows,
          ports.filter(port => port.family === family),
        )
        for (const flow of stale.slice(0, pairsMax)) await this.#delete(family, flow, signal)
      }
    } catch (error) {
      if (!signal.aborted) this.#log.warn('flows of UDP may go on to endpoints that are gone', { error })
    }
  }

  async #delete(family: IpFamily, { to, answeredBy }: Flow, signal: AbortSignal): Promise<void> {
    const which = ['--orig-dst', to.address, '--orig-port-dst', `${to.port}`]
    const where = ['--reply-src', answeredBy.address, '--reply-port-src', `${answeredBy.port}`]
    try {
      await this.#linux.run(['conntrack', '-D', '-p', 'udp', '-f', `ipv${family}`, ...which, ...where], {
        signal,
      })
    } catch (error) {
      // The entry may have expired meanwhile.
      this.#log.debug('a flow of UDP was not deleted', { error })
    }
  }
}
