/**
 * Machines on which the program `nft` cannot work. Known is version 1.0.6 of Debian 12: it crashes while it reads the
 * sets of the network namespace as soon as one of them was written by a newer version, such as that of a container.
 * Commands that read no sets still work: `add table`, `add chain`, `flush table`.
 */
import type { Linux } from '#/platform/linux.ts'

/** Why `nft` cannot work, from the error of a command; undefined if the error has another cause. */
export function nftFault(error: unknown): string | undefined {
  const { killedBy, code, message = '' } = error as Partial<RunError>
  if (killedBy !== undefined && crashSignals.has(killedBy)) return `nft was killed by signal ${killedBy}`
  if (code === 'ENOENT') return 'nft is not installed'
  if (/cache initialization failed: .*not supported/.test(message)) return 'the kernel has no nftables'
  return undefined
}

/** Signals of a program that has crashed, unlike those of a machine that shuts down or lacks memory. */
const crashSignals: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE'])

/** Runs a command that reads all sets, and changes nothing. Returns why `nft` cannot work. */
export async function probeNft(linux: Pick<Linux, 'run'>, signal?: AbortSignal): Promise<string | undefined> {
  const stdin = 'add table ip k8ts-probe\ndelete table ip k8ts-probe\n'
  try {
    await linux.run(['nft', '--check', '-f', '-'], { stdin, ...(signal && { signal }) })
    return undefined
  } catch (error) {
    signal?.throwIfAborted()
    return nftFault(error)
  }
}

interface RunError {
  readonly killedBy: string
  readonly code: string
  readonly message: string
}
