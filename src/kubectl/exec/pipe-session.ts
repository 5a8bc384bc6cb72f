import type { CommandProcess, CommandResult } from '#/streams/streams.ts'

export interface SessionPipes {
  /** Read until the session ends. */
  readonly stdin?: (signal: AbortSignal) => AsyncIterable<Uint8Array>
  readonly onStdout: (bytes: Uint8Array) => void | Promise<void>
  readonly onStderr: (bytes: Uint8Array) => void | Promise<void>
}

/** Copies the streams of a process until it ends. Rejects if a pipe fails. */
export async function pipeSession(
  process: CommandProcess,
  { stdin, onStdout, onStderr }: SessionPipes,
): Promise<CommandResult> {
  const ended = new AbortController()
  const inputFailure = Promise.withResolvers<never>()
  if (stdin) {
    copyInput(process, stdin(ended.signal)).catch((error: unknown) => {
      if (!ended.signal.aborted) inputFailure.reject(error)
    })
  }
  try {
    const output = Promise.all([
      process.result,
      copyOutput(process.stdout, onStdout),
      copyOutput(process.stderr, onStderr),
    ])
    const [result] = await Promise.race([output, inputFailure.promise])
    return result
  } finally {
    ended.abort(new Error('the session has ended'))
  }
}

async function copyInput(process: CommandProcess, input: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const bytes of input) await process.writeStdin(bytes)
  process.endStdin()
}

/** A broken connection only ends the output: the result tells it. */
async function copyOutput(output: AsyncIterable<Uint8Array>, write: SessionPipes['onStdout']): Promise<void> {
  const iterator = output[Symbol.asyncIterator]()
  for (;;) {
    const next = await iterator.next().catch(() => ({ done: true }) as const)
    if (next.done) return
    await write(next.value)
  }
}
