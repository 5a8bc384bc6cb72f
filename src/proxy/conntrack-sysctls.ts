/** The settings of connection tracking that kube-proxy applies at its start, as sysctls of the node. */
import type { Linux } from '#/platform/linux.ts'
import type { Log } from '#/platform/platform.ts'

/** What is absent or 0 is left as it is. */
export interface ConntrackSettings {
  readonly maxPerCore?: number
  readonly min?: number
  readonly tcpEstablishedMs?: number
  readonly tcpCloseWaitMs?: number
  readonly tcpBeLiberal?: boolean
  readonly udpMs?: number
  readonly udpStreamMs?: number
}

/** Sysctls with their values. */
export function planConntrackSysctls(
  settings: ConntrackSettings,
  processors: number,
): Readonly<Record<string, number>> {
  const { maxPerCore = 0, min = 0, tcpBeLiberal } = settings
  const max = maxPerCore > 0 ? Math.max(maxPerCore * processors, min) : 0
  const all = {
    max,
    tcp_timeout_established: secondsOf(settings.tcpEstablishedMs),
    tcp_timeout_close_wait: secondsOf(settings.tcpCloseWaitMs),
    tcp_be_liberal: tcpBeLiberal === true ? 1 : 0,
    udp_timeout: secondsOf(settings.udpMs),
    udp_timeout_stream: secondsOf(settings.udpStreamMs),
  }
  const set = Object.entries(all).filter(([, value]) => value > 0)
  return Object.fromEntries(set.map(([name, value]) => [`net/netfilter/nf_conntrack_${name}`, value]))
}

function secondsOf(ms = 0): number {
  return Math.ceil(ms / 1_000)
}

/** A sysctl that cannot be written, as in a network namespace, is logged. */
export async function applyConntrackSysctls(
  { linux, log }: { readonly linux: Pick<Linux, 'run'>; readonly log: Log },
  sysctls: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [name, value] of Object.entries(sysctls)) {
    try {
      await linux.run(['sh', '-c', 'echo "$2" > "/proc/sys/$1"', 'sh', name, String(value)])
    } catch (error) {
      log.warn('Failed to set sysctl', { sysctl: name, value, error })
    }
  }
}
