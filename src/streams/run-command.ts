/** Connects a command client to a process until either ends. */
import { messageOf } from '#/base/message-of.ts'
import type { CommandClient, CommandProcess, CommandResult } from './streams.ts'

export interface RunCommandOptions {
  readonly client: CommandClient
  /** Starts the process or attaches to it. Errors are sent to the client. */
  readonly start: (signal: AbortSignal) => Promise<CommandProcess>
  /** Aborting ends the session, with the reason as its error. */
  readonly signal?: AbortSignal
}

/**
 * Never rejects: errors are part of the result sent to the client. The process is disposed of when the client
 * disconnects.
 */
export async function runCommand(options: RunCommandOptions): Promise<CommandResult> {
  const result = await resultOf(options)
  await options.client.finish(result)
  return result
}

async function resultOf({ client, start, signal }: RunCommandOptions): Promise<CommandResult> {
  const over = signal === undefined ? client.signal : AbortSignal.any([client.signal, signal])
  const gone = new Promise<CommandResult>(resolve => {
    const abort = (): void => {
      const message = client.signal.aborted ? 'client disconnected' : messageOf(over.reason)
      resolve({ type: 'failed', message })
    }
    if (over.aborted) abort()
    else over.addEventListener('abort', abort, { once: true })
  })
  try {
    await using process = await start(over)
    // These end with the process or the client and do not affect the result.
    void pumpStdin(client, process).catch(() => undefined)
    void pumpSizes(client, process).catch(() => undefined)
    return await Promise.race([pumpOutput(client, process), gone])
  } catch (error) {
    return { type: 'failed', message: messageOf(error) }
  }
}

async function pumpOutput(client: CommandClient, process: CommandProcess): Promise<CommandResult> {
  const pump = async (
    source: AsyncIterable<Uint8Array>,
    write: (bytes: Uint8Array) => Promise<void>,
  ): Promise<void> => {
    for await (const bytes of source) await write(bytes)
  }
  const [result] = await Promise.all([
    process.result,
    pump(process.stdout, bytes => client.writeStdout(bytes)),
    pump(process.stderr, bytes => client.writeStderr(bytes)),
  ])
  return result
}

async function pumpStdin(client: CommandClient, process: CommandProcess): Promise<void> {
  if (!client.options.stdin) return
  for await (const bytes of client.stdin) await process.writeStdin(bytes)
  process.endStdin()
}

async function pumpSizes(client: CommandClient, process: CommandProcess): Promise<void> {
  for await (const size of client.sizes) process.resize(size)
}
