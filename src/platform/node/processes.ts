import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { assert } from '#/base/assert.ts'
import type { Process, Processes, ProcessExit, ProcessOptions } from '../platform.ts'

/** The variables of `environment` are added to those of this process. */
export function nodeProcesses(): Processes {
  return { start }
}

/**
 * A process leads its own process group, so that killing it kills its children too and ctrl-C in the terminal
 * does not reach it. If this process is killed, the kernel kills the child (Linux, `setpriv`).
 */
async function start(command: readonly string[], options: ProcessOptions = {}): Promise<Process> {
  const { signal } = options
  signal?.throwIfAborted()
  const child = await spawnChild(command, options)
  const { pid } = child
  assert(pid, 'a started process has a pid')
  // Writing to a program that has ended must not end this process.
  child.stdin.on('error', () => undefined)
  const kill: Process['kill'] = name => {
    if (running.has(pid)) killGroup(pid, name)
  }
  const abort = () => kill('SIGKILL')
  killTogetherWithUs(pid)
  const exited = new Promise<ProcessExit>(settle => {
    child.once('exit', (code, name) => {
      running.delete(pid)
      signal?.removeEventListener('abort', abort)
      settle(name ? { signal: name } : { code: code ?? 0 })
    })
  })
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  return { pid, stdin: child.stdin, stdout: kept(child.stdout), stderr: kept(child.stderr), exited, kill }
}

async function spawnChild(command: readonly string[], options: ProcessOptions) {
  const [name, ...parameters] = command
  assert(name, 'the command must not be empty')
  const env = { ...process.env, ...options.environment }
  const cwd = options.folder ?? process.cwd()
  const program = await findProgram(name, cwd, env['PATH'])
  const [launcher, ...rest] = await withDeathSignal([program, ...parameters])
  const { spawn } = await import('node:child_process')
  const child = spawn(launcher, rest, { cwd, env, detached: true, stdio: 'pipe' })
  try {
    await once(child, 'spawn')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw Object.assign(new Error(`cannot start ${name} in ${cwd}: ${code}`, { cause }), { code })
  }
  return child
}

/** Node discards unread output when the program ends; a second stream keeps it until it is read. */
function kept(output: Readable): Readable {
  return pipeline(output, new PassThrough(), () => undefined)
}

/** PIDs of the group leaders that have not ended. */
const running = new Set<number>()

function killTogetherWithUs(pid: number): void {
  if (!process.listeners('exit').includes(killAll)) process.on('exit', killAll)
  running.add(pid)
}

function killAll(): void {
  for (const pid of running) killGroup(pid, 'SIGKILL')
}

function killGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name)
  } catch (error) {
    // The process has ended but Node has not reported it yet.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

let setprivOnce: Promise<string | undefined> | undefined

/**
 * The command prefixed with `setpriv`, so that the kernel kills it when this process dies; unchanged if
 * `setpriv` is not available.
 */
async function withDeathSignal(
  command: readonly [string, ...string[]],
): Promise<readonly [string, ...string[]]> {
  if (process.platform !== 'linux') return command
  setprivOnce ??= findProgram('setpriv', '/', process.env['PATH']).catch(() => undefined)
  const setpriv = await setprivOnce
  return setpriv ? [setpriv, '--pdeathsig', 'KILL', '--', ...command] : command
}

/**
 * The program file, found as by a shell: a name with a slash relative to the folder, any other in the search
 * path.
 */
async function findProgram(name: string, folder: string, searchPath = ''): Promise<string> {
  const candidates = name.includes('/')
    ? [resolve(folder, name)]
    : searchPath.split(delimiter).map(each => resolve(folder, each, name))
  let code = 'ENOENT'
  for (const candidate of candidates) {
    try {
      await access(candidate, constants.X_OK)
      if ((await stat(candidate)).isFile()) return candidate
      code = 'EACCES'
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EACCES') code = 'EACCES'
    }
  }
  const reason = code === 'ENOENT' ? 'there is no such program' : 'it may not be executed'
  throw Object.assign(new Error(`cannot start ${name}: ${reason}`), { code })
}
