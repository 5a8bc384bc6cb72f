/**
 * Finds the container processes and shims of a cluster on this machine by cgroup and command line, without
 * the container runtime, so that they can be terminated even when it no longer runs.
 */
import { join } from 'node:path'
import { kubepodsCgroup } from '#/kubelet/pod-paths.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export interface NodeProcessesOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'run'>
  /** Parent of all cgroups of the cluster. */
  readonly cgroupRoot: string
  /** Socket path of the cluster's containerd. */
  readonly containerdSocket: string
}

export interface NodeProcesses {
  readonly containers: readonly number[]
  readonly shims: readonly number[]
}

/**
 * Sends SIGTERM to all containers, then SIGKILL after the grace period; then waits for the shims, which exit
 * automatically while their containerd runs.
 */
export async function terminateNodeProcesses(options: NodeProcessesOptions, graceMs: number): Promise<void> {
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
    const pods = `${kubepodsCgroup({ cgroupRoot })}/`
    return groups.some(group => group.startsWith(pods)) ? 'container' : undefined
  } catch {
    // The process has exited meanwhile.
    return undefined
  }
}

async function signal(
  linux: Pick<Linux, 'run'>,
  name: 'TERM' | 'KILL',
  pids: readonly number[],
): Promise<void> {
  if (pids.length === 0) return
  // Processes that have already exited are ignored.
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

/** Time for the kernel to reap killed processes. */
const killedMs = 1_000

/** Time for a containerd with many containers to clean up. */
const shimMs = 2_000
