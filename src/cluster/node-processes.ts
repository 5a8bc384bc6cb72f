/**
 * The processes that containers of a cluster on this machine are: those in its control groups, and the shims that hold
 * them. They are found without asking the container runtime, so that they can be ended when it is gone, too.
 */
import { join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export interface NodeProcessesOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'run'>
  /** All control groups of its pods are below it. */
  readonly cgroupRoot: string
  /** Where its containerd listens. */
  readonly containerdSocket: string
}

export interface NodeProcesses {
  readonly containers: readonly number[]
  readonly shims: readonly number[]
}

/**
 * Asks all containers to end and ends those that do not within the time; then waits for their shims, which go by
 * themselves while their containerd runs.
 */
export async function endNodeProcesses(options: NodeProcessesOptions, graceMs: number): Promise<void> {
  const { linux } = options
  const containers = async (): Promise<readonly number[]> => (await nodeProcesses(options)).containers
  const shims = async (): Promise<readonly number[]> => (await nodeProcesses(options)).shims
  await signal(linux, 'TERM', await containers())
  await untilGone(options, containers, graceMs)
  await signal(linux, 'KILL', await containers())
  await untilGone(options, containers, killedMs)
  await untilGone(options, shims, shimMs)
  await signal(linux, 'KILL', await shims())
  await untilGone(options, shims, killedMs)
}

export async function nodeProcesses(options: NodeProcessesOptions): Promise<NodeProcesses> {
  const { files } = options.platform
  const pids = (await files.list('/proc')).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async pid => ({ pid: Number(pid), is: await kindOf(options, pid) })),
  )
  const those = (kind: string): readonly number[] =>
    found.filter(({ is }) => is === kind).map(({ pid }) => pid)
  return { containers: those('container'), shims: those('shim') }
}

async function kindOf(options: NodeProcessesOptions, pid: string): Promise<'container' | 'shim' | undefined> {
  const { platform, cgroupRoot, containerdSocket } = options
  const read = async (name: string): Promise<string> =>
    Buffer.from(await platform.files.read(join('/proc', pid, name))).toString()
  try {
    const words = (await read('cmdline')).split('\0')
    if (words[0]?.includes('containerd-shim')) return words.includes(containerdSocket) ? 'shim' : undefined
    const groups = (await read('cgroup')).split('\n').map(line => line.split(':').slice(2).join(':'))
    return groups.some(group => group.startsWith(`${cgroupRoot}/`)) ? 'container' : undefined
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

async function signal(
  linux: Pick<Linux, 'run'>,
  name: 'TERM' | 'KILL',
  pids: readonly number[],
): Promise<void> {
  if (pids.length === 0) return
  // Those that have ended meanwhile are what is wanted.
  await linux.run(['sh', '-c', `kill -${name} "$@" 2>/dev/null || true`, 'sh', ...pids.map(String)])
}

async function untilGone(
  { platform: { clock } }: NodeProcessesOptions,
  left: () => Promise<readonly number[]>,
  timeMs: number,
): Promise<void> {
  const endMs = clock.monotonicMs() + timeMs
  while ((await left()).length > 0 && clock.monotonicMs() < endMs) await clock.sleep(lookAgainMs)
}

const lookAgainMs = 50

/** What was killed is gone as soon as the kernel gets to it. */
const killedMs = 1_000

/** A containerd with many containers to clean up after takes a while. */
const shimMs = 2_000
