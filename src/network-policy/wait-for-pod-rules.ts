/**
 * Lets a kubelet in a process of its own wait for the rules that the agent in the process of the service proxy writes.
 * The kernel's tables are what both processes see; the agent learns the addresses from the Pod's status, which the
 * kubelet reports meanwhile.
 */
import { parseIp } from '#/api/net/ip.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export interface PodRulesOptions {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  readonly linux: Pick<Linux, 'run'>
  /** Name of the tables. */
  readonly table: string
}

/** Time that a pod waits for its rules. After it, packets of the pod are dropped until they are written. */
export const podWaitMs = 10_000

/** Pause between looks at the tables: `nft monitor` reports changes, but not of one element. */
const pauseMs = 50

/**
 * Resolves when the tables have an entry for each of the addresses, after a bounded time, or at once if there are no
 * tables, since there is no policy in the cluster.
 */
export async function waitForPodRules(
  { platform, linux, table }: PodRulesOptions,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = platform
  const succeeds = async (...command: readonly string[]): Promise<boolean> => {
    try {
      await linux.run(['nft', ...command], { signal })
      return true
    } catch {
      signal.throwIfAborted()
      return false
    }
  }
  const isMissing = async (address: string): Promise<boolean> => {
    const at = [tableFamily(parseIp(address)?.family ?? 4).name, table] as const
    if (!(await succeeds('list', 'chain', ...at, 'filter-ingress'))) return false
    return !(await succeeds('get', 'element', ...at, 'ingress-pods', `{ ${address} }`))
  }
  const startedMs = clock.monotonicMs()
  for (const address of addresses) {
    while (await isMissing(address)) {
      if (clock.monotonicMs() - startedMs >= podWaitMs) {
        log.warn('Pod starts before its network policies are in force', { address })
        return
      }
      await clock.sleep(pauseMs, signal)
    }
  }
}
