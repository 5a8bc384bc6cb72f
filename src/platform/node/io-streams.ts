/** Built-in modules are loaded when they are used first, since most commands need none of them. */
import type { IOStreams, OutputStream, TerminalSize } from '../io-streams.ts'
import { runInteractive } from './io-streams/run-interactive.ts'
import { StandardInput } from './io-streams/standard-input.ts'
import { isTerminal, rawMode } from './io-streams/terminal-mode.ts'

export function nodeIOStreams(): IOStreams {
  const stdout = outputStream(1, () => process.stdout)
  const stderr = outputStream(2, () => process.stderr)
  return {
    stdin: new StandardInput(stdout),
    stdout,
    stderr,
    write: output => stdout.write(output),
    writeError: output => stderr.write(output),
    raw: rawMode,
    interrupted,
    runInteractive,
  }
}

type NodeOutput = NodeJS.WriteStream & { readonly fd: 1 | 2 }

function outputStream(descriptor: 1 | 2, open: () => NodeOutput): OutputStream {
  let opened: NodeOutput | undefined
  let failure: NodeJS.ErrnoException | undefined
  const stream = (): NodeOutput => {
    if (opened !== undefined) return opened
    opened = open()
    opened.on('error', (error: NodeJS.ErrnoException) => {
      failure = error
      if (error.code === 'EPIPE' && descriptor === 1) endByBrokenPipe()
    })
    return opened
  }
  return {
    get isTerminal() {
      return isTerminal(descriptor)
    },
    write: output => void stream().write(output),
    drained: async () => {
      const output = stream()
      if (output.writableNeedDrain && failure === undefined) await change(output, ['drain', 'close', 'error'])
      if (failure !== undefined) throw failure
    },
    flushed: () =>
      new Promise((resolve, reject) => {
        stream().write('', error => {
          const reason = failure ?? error
          if (reason) reject(reason)
          else resolve()
        })
      }),
    size: () => sizeOf(stream()),
    sizes: signal => sizes(stream(), signal),
  }
}

/**
 * Ends the process like a program that has not changed the disposition of SIGPIPE, which Node ignores. Removing the
 * last listener of a signal restores its default.
 */
function endByBrokenPipe(): void {
  const nothing = (): void => undefined
  process.on('SIGPIPE', nothing)
  process.off('SIGPIPE', nothing)
  process.kill(process.pid, 'SIGPIPE')
}

async function* sizes(
  output: NodeOutput,
  signal: AbortSignal,
): AsyncGenerator<TerminalSize, void, undefined> {
  let last: TerminalSize | undefined
  while (!signal.aborted) {
    // Listens before the size is read, so that no change is missed.
    const changed = change(output, ['resize', 'close'], signal)
    const size = sizeOf(output)
    if (size === undefined) return
    if (size.columns !== last?.columns || size.rows !== last.rows) yield size
    last = size
    await changed
  }
}

function sizeOf(output: NodeOutput): TerminalSize | undefined {
  if (!output.isTTY || output.destroyed) return undefined
  const [columns, rows] = output.getWindowSize()
  return { columns, rows }
}

/** Resolves on the first of the events, or when aborted. */
function change(output: NodeOutput, events: readonly string[], signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const settle = (): void => {
      for (const event of events) output.off(event, settle)
      signal?.removeEventListener('abort', settle)
      resolve()
    }
    for (const event of events) output.on(event, settle)
    signal?.addEventListener('abort', settle, { once: true })
    if (signal?.aborted) settle()
  })
}

function interrupted(): AbortSignal {
  const controller = new AbortController()
  process.once('SIGINT', () => controller.abort(new Error('interrupted')))
  return controller.signal
}
