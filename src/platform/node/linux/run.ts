import { execFile } from 'node:child_process'
import { assert } from '#/base/assert.ts'
import type { RunOptions } from '../../linux.ts'

/** Maximum output of a short command; one that exceeds it is killed. */
const outputBytesMax = 16 * 1024 * 1024

/** Default timeout of a short command. */
const timeoutMsUsual = 120_000

/** `su` leaves root with the search path of a user, on which nft and ip are not. */
const environment = {
  ...process.env,
  PATH: `${process.env['PATH'] ?? '/usr/bin:/bin'}:/usr/local/sbin:/usr/sbin:/sbin`,
}

export function run(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const [program, ...parameters] = command
  assert(program, 'a command has at least the name of a program')
  const { stdin = '', signal, timeoutMs = timeoutMsUsual } = options
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      parameters,
      { signal, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: outputBytesMax, env: environment },
      (cause, stdout, stderr) => {
        if (cause === null) return resolve(stdout)
        if (signal?.aborted) return reject(signal.reason as Error)
        reject(failure(command, cause, stderr.trim() || stdout.trim()))
      },
    )
    // A child that does not read its stdin must not end this process.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(stdin)
  })
}

function failure(command: readonly string[], cause: Error, said: string): Error {
  const { code, killed } = cause as Error & { readonly code?: string | number; readonly killed?: boolean }
  const reason = said || (killed ? 'it took too long or said too much' : cause.message)
  const error = new Error(`${command.join(' ')}: ${reason}`, { cause })
  return Object.assign(error, typeof code === 'number' ? { exitCode: code } : code && { code })
}
