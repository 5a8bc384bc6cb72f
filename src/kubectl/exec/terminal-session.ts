import type { IOStreams } from '#/platform/io-streams.ts'
import type { CommandProcess, CommandResult } from '#/streams/streams.ts'
import { ExitError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import type { DetachKeys } from './detach-keys.ts'
import { openSession, type SessionTarget } from './open-session.ts'
import { pipeSession } from './pipe-session.ts'

export interface TerminalSessionOptions extends SessionTarget {
  readonly stdin: boolean
  /** The terminal of this program becomes that of the process. */
  readonly isRaw: boolean
  readonly detachKeys?: DetachKeys
  /** Reports another size first, so that a program that is running already draws its screen again. */
  readonly redraws?: boolean
}

/** Runs a process in the foreground of this program's terminal. Throws ExitError with its exit code. */
export async function runTerminalSession(factory: Factory, options: TerminalSessionOptions): Promise<void> {
  const { streams } = factory.machine
  const result = await attachTerminal(factory, options)
  if (result.type === 'failed') throw new Error(result.message)
  if (result.code === 0) return
  streams.stderr.write(`command terminated with exit code ${result.code}\n`)
  throw new ExitError(result.code)
}

async function attachTerminal(factory: Factory, options: TerminalSessionOptions): Promise<CommandResult> {
  const { streams } = factory.machine
  const { stdin, isRaw, detachKeys, redraws = false } = options
  using _ = isRaw ? streams.raw() : undefined
  const requested = { stdin, stdout: true, stderr: !isRaw, tty: isRaw }
  await using process = await openSession(factory, { ...options, streams: requested })
  const ended = new AbortController()
  if (isRaw) void followSize(process, { streams, redraws, signal: ended.signal })
  const detached = Promise.withResolvers<CommandResult>()
  const write = async ({ stdout }: Pick<IOStreams, 'stdout'>, bytes: Uint8Array): Promise<void> => {
    stdout.write(bytes)
    await stdout.drained()
  }
  const piped = pipeSession(process, {
    ...(stdin && {
      stdin: signal =>
        untilDetached(streams.stdin.bytes(signal), {
          detachKeys,
          detach: () => detached.resolve({ type: 'exited', code: 0 }),
        }),
    }),
    onStdout: bytes => write({ stdout: streams.stdout }, bytes),
    onStderr: bytes => write({ stdout: streams.stderr }, bytes),
  })
  try {
    return await Promise.race([piped, detached.promise])
  } finally {
    ended.abort()
  }
}

async function followSize(
  process: CommandProcess,
  {
    streams,
    redraws,
    signal,
  }: { readonly streams: IOStreams; readonly redraws: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const size = redraws ? streams.stdout.size() : undefined
  if (size !== undefined) process.resize({ columns: size.columns + 1, rows: size.rows + 1 })
  for await (const each of streams.stdout.sizes(signal)) process.resize(each)
}

async function* untilDetached(
  input: AsyncIterable<Uint8Array>,
  { detachKeys, detach }: { readonly detachKeys: DetachKeys | undefined; readonly detach: () => void },
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const bytes of input) {
    if (detachKeys === undefined) {
      yield bytes
      continue
    }
    const { input: typed, isDetached } = detachKeys.read(bytes)
    if (typed.length > 0) yield typed
    if (!isDetached) continue
    detach()
    return
  }
}

export interface PlanTerminalOptions {
  readonly stdin: boolean
  readonly tty: boolean
  readonly quiet: boolean
}

/** Whether the terminal becomes that of the process. Prints why not, if a TTY was asked for. */
export function planTerminal(streams: IOStreams, { stdin, tty, quiet }: PlanTerminalOptions): boolean {
  if (!stdin || !tty) return false
  if (streams.stdin.isTerminal) return true
  if (!quiet)
    streams.stderr.write('Unable to use a TTY - input is not a terminal or the right kind of file\n')
  return false
}
