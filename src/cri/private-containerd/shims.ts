/** The shims of one containerd: processes that hold the containers of a sandbox and outlive containerd. */
import { join } from 'node:path/posix'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'

export interface Shim {
  readonly pid: number
  /** Id of the sandbox that it serves. */
  readonly id: string
}

export interface ShimsOptions {
  readonly platform: { readonly files: Pick<Files, 'list' | 'read' | 'remove'> }
  readonly linux: Pick<Linux, 'run'>
  /** Root of containerd's state. */
  readonly folder: string
  /** The socket of containerd, which is on the command line of its shims. */
  readonly socketPath: string
}

export async function findShims({ platform, socketPath }: ShimsOptions): Promise<readonly Shim[]> {
  const pids = (await platform.files.list('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  const shims: Shim[] = []
  for (const pid of pids) {
    const words = (await textOf(platform.files, `/proc/${pid}/cmdline`)).split('\0')
    const shim = shimOf(pid, words, socketPath)
    if (shim) shims.push(shim)
  }
  return shims
}

/** Kills the shim of a sandbox, also a stopped one, and removes its socket, which containerd leaves behind. */
export async function killShim(options: ShimsOptions, sandboxId: string): Promise<void> {
  const { files } = options.platform
  // containerd removes the bundle as soon as it notices the exit.
  const socket = await shimSocket(files, join(bundlesFolder(options.folder), sandboxId))
  const pids = (await findShims(options)).filter(({ id }) => id === sandboxId).map(({ pid }) => pid)
  if (pids.length > 0) await options.linux.run(['sh', '-c', `kill -9 ${pids.join(' ')} || :`])
  if (socket !== undefined) await files.remove(socket)
}

/** The folder with one bundle for each container. */
export function bundlesFolder(folder: string): string {
  return join(folder, 'state/io.containerd.runtime.v2.task/k8s.io')
}

/** The socket of the shim that holds the container of this bundle. */
export async function shimSocket(files: Pick<Files, 'read'>, bundle: string): Promise<string | undefined> {
  // The first is the file of containerd before 2.0.
  for (const name of ['address', 'bootstrap.json']) {
    const path = socketAddress.exec(await textOf(files, join(bundle, name)))?.[1]
    if (path !== undefined) return path
  }
  return undefined
}

const socketAddress = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/

/** Parses a process's command line. Undefined if it is not a shim of the containerd with this socket. */
export function shimOf(pid: number, words: readonly string[], socketPath: string): Shim | undefined {
  const after = (flag: string): string | undefined => words[words.indexOf(flag) + 1]
  const isShim = /(?:^|\/)containerd-shim-/.test(words[0] ?? '') && words.includes('-id')
  const id = after('-id')
  if (!isShim || !id || !words.includes('-address') || after('-address') !== socketPath) return undefined
  // Invocations with `start` and `delete` are short-lived helpers.
  return words.includes('start') || words.includes('delete') ? undefined : { pid, id }
}

/** Empty if the file cannot be read. */
export async function textOf(files: Pick<Files, 'read'>, path: string): Promise<string> {
  const bytes = await files.read(path).catch(() => new Uint8Array())
  return Buffer.from(bytes).toString()
}
