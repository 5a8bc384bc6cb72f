import { execFile, type ExecFileException } from 'node:child_process'
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
  assert(program, 'the command must not be empty')
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

function failure(command: readonly string[], cause: ExecFileException, output: string): Error {
  const { code, signal, killed } = cause
  const error = new Error(`${command.join(' ')}: ${reasonOf(cause, output)}`, { cause })
  if (signal && !killed) return Object.assign(error, { killedBy: signal })
  return Object.assign(error, typeof code === 'number' ? { exitCode: code } : code && { code })
}

/** A program that was killed has often printed nothing, or only part of its message. */
function reasonOf({ killed, signal, message, code }: ExecFileException, output: string): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `output exceeds ${outputBytesMax} bytes`
  if (!signal) return output || message
  const how = killed ? 'timed out and was killed' : `killed by signal ${signal}`
  return output === '' ? how : `${how}: ${output}`
}
