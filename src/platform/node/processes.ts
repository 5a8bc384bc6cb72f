import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { PassThrough, pipeline, type Readable } from 'node:stream'
import { assert } from '#/base/assert.ts'
import type { Process, Processes, ProcessExit, ProcessOptions } from '../platform.ts'

/** Variables given in `environment` are added to our own. */
export function nodeProcesses(): Processes {
  return { start }
}

/**
 * A process leads a group of its own, so that killing it takes what it started along and ctrl-C in our terminal does
 * not reach it before we decide. When we are killed without a chance to act, the kernel kills it (Linux, `setpriv`).
 */
async function start(command: readonly string[], options: ProcessOptions = {}): Promise<Process> {
  const { signal } = options
  signal?.throwIfAborted()
  const child = await spawnChild(command, options)
  const { pid } = child
  assert(pid, 'a process that was started has a number')
  // Writing to a program that has ended is no reason for us to end.
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
  assert(name, 'a command has at least the name of a program')
  const env = { ...process.env, ...options.environment }
  const cwd = options.folder ?? process.cwd()
  const program = await findProgram(name, cwd, env['PATH'])
  const [launcher, ...rest] = await withDeathSignal([program, ...parameters])
  const child = spawn(launcher, rest, { cwd, env, detached: true, stdio: 'pipe' })
  try {
    await once(child, 'spawn')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw Object.assign(new Error(`cannot start ${name} in ${cwd}: ${code}`, { cause }), { code })
  }
  return child
}

/** Node throws output away that nobody reads when the program ends; behind another stream it waits for its reader. */
function kept(output: Readable): Readable {
  return pipeline(output, new PassThrough(), () => undefined)
}

/** The leaders of the groups that have not ended. */
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
    // It ended by itself and Node has not told us yet.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

let setprivOnce: Promise<string | undefined> | undefined

/** The command behind the words that make the kernel kill it when we die; as it is where that cannot be had. */
async function withDeathSignal(
  command: readonly [string, ...string[]],
): Promise<readonly [string, ...string[]]> {
  if (process.platform !== 'linux') return command
  setprivOnce ??= findProgram('setpriv', '/', process.env['PATH']).catch(() => undefined)
  const setpriv = await setprivOnce
  return setpriv ? [setpriv, '--pdeathsig', 'KILL', '--', ...command] : command
}

/** The file to run, found as a shell would: a name with a slash from the folder, any other along the search path. */
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
