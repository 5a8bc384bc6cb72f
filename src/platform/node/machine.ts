/** The process and the machine it runs on. */
import { webcrypto } from 'node:crypto'
import { fstatSync, readdirSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { constants, homedir, hostname, networkInterfaces, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HandOverRequest } from '../hand-over.ts'
import { fileURLToPath } from 'node:url'
import type { ProcessUsage } from '../process-usage.ts'
import { eventLoopBlocks } from './event-loop-watchdog.ts'
import { processDetails } from './process-details.ts'

/** Home folder of the user that runs the program. */
export function homeFolder(): string {
  return homedir()
}

/** Host name and external IP addresses of the machine. */
export function machineNames(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  const reachable = addresses.filter(({ internal, scopeid }) => !internal && !scopeid)
  return [hostname(), ...reachable.map(({ address }) => address)]
}

/** A new, empty folder, accessible by this user only, in the system's temporary folder. */
export function makeTemporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'k8ts-'))
}

/** Loads a module that is not part of the program. */
export function importModule(specifier: string): Promise<unknown> {
  return import(specifier)
}

/** The command that started this program, without its parameters. */
export function programCommand(): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? '']
}

/** Of the Node that runs, and of the folder of this package. */
export function programPaths(): { readonly node: string; readonly root: string } {
  return { node: process.execPath, root: fileURLToPath(new URL('../../..', import.meta.url)) }
}

/** Only Linux machines can be nodes. */
export function isLinux(): boolean {
  return process.platform === 'linux'
}

/** Leaves the processor to other processes, such as a cluster whose store this one reads. */
export function lowerPriority(): void {
  setPriority(constants.priority.PRIORITY_LOW)
}

/** True if what this process prints is appended to a file, such as a log. */
export function isOutputFile(): boolean {
  try {
    return fstatSync(process.stdout.fd).isFile()
  } catch {
    return false
  }
}

export function processId(): number {
  return process.pid
}

export function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  const details = processDetails()
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: rss,
    heapBytes: heapUsed,
    startedMs: performance.timeOrigin,
    openFiles: countOpenFiles(),
    ...(details && { details }),
    eventLoopBlocks: eventLoopBlocks(),
  }
}

function countOpenFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return undefined
  }
}

export interface TerminationOptions {
  /** The process exits within this time after the first signal in any case. */
  readonly deadlineMs: number
  /** SIGUSR2 ends the process, too, with a `HandOverRequest` as the reason. */
  readonly handsOver?: boolean
}

/**
 * Aborted on SIGTERM or SIGINT. The process exits at the deadline after the first signal, and immediately on
 * a second. Signals that come together are one: ctrl-C reaches this process from the terminal and from its supervisor.
 */
export function terminationSignal({ deadlineMs, handsOver }: TerminationOptions): AbortSignal {
  const asked = new AbortController()
  let askedMs = Infinity
  for (const name of ['SIGTERM', 'SIGINT', ...(handsOver ? (['SIGUSR2'] as const) : [])] as const) {
    process.on(name, () => {
      if (asked.signal.aborted) {
        if (performance.now() - askedMs > togetherMs) endNow()
        return
      }
      askedMs = performance.now()
      setTimeout(endNow, deadlineMs).unref()
      asked.abort(name === 'SIGUSR2' ? new HandOverRequest() : new Error(`received ${name}`))
    })
  }
  return asked.signal
}

const togetherMs = 200

/**
 * `process.exit` waits for the threads of the file system calls, one of which may never return, e.g. on a network file
 * system that is gone. So only its listeners are called, which end child processes.
 */
function endNow(): never {
  process.emit('exit', 1)
  process.kill(process.pid, 'SIGKILL')
  throw new Error('SIGKILL has not ended the process')
}

/** A line of the standard input, without its end; empty when the input has ended. */
export async function readInputLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
  }
}

/** Aborted when the standard input ends: the process that started this one has closed it, or has ended. */
export function standardInputEnd(): AbortSignal {
  const ended = new AbortController()
  for (const event of ['end', 'close', 'error'])
    process.stdin.once(event, () => ended.abort(new Error('the standard input has ended')))
  process.stdin.resume()
  return ended.signal
}

/**
 * Web Cryptography API with the operating system's random source, for libraries that require the whole API.
 */
export function nodeCrypto(): Crypto {
  return webcrypto
}
