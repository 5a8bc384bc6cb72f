/**
 * Streams between a person at a terminal and a process in a container, and between a local port and one of a pod.
 * Whoever has such a session reads and writes bytes; which protocol carries them (WebSocket, SPDY/3.1, none at all in a
 * simulation) is known to those who make sessions only. Reading slowly slows the other end down: nothing piles up.
 */
import type { Duplex } from 'node:stream'

/** Which streams a command has. With a terminal stderr is part of stdout. */
export interface CommandOptions {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** How a command ended, or why it was not run. */
export type CommandResult =
  | { readonly type: 'exited'; readonly code: number }
  /** What went wrong, for people. */
  | { readonly type: 'failed'; readonly message: string }

/** The side of the person: what comes from the client, and where to send what the process says. */
export interface CommandClient {
  readonly options: CommandOptions
  /** Ends when the client closes its end; throws when the connection broke. Empty when there is no stdin. */
  readonly stdin: AsyncIterable<Uint8Array>
  readonly sizes: AsyncIterable<TerminalSize>
  /** Resolve when there is room for more. They do nothing once the client is gone. */
  writeStdout(bytes: Uint8Array): Promise<void>
  writeStderr(bytes: Uint8Array): Promise<void>
  /** The last word. Resolves when it is sent, and the connection is closed. */
  finish(result: CommandResult): Promise<void>
  /** Aborted when the connection is gone. */
  readonly signal: AbortSignal
}

/** The side of the process. */
export interface CommandProcess extends AsyncDisposable {
  /** Empty when the process has no such stream. They end when the process has ended or closed them. */
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  /** Resolves when there is room for more; writing to one that has ended does nothing. */
  writeStdin(bytes: Uint8Array): Promise<void>
  /** The process reads the end of its input. */
  endStdin(): void
  resize(size: TerminalSize): void
  /** Resolves once the process has ended and all that it said can be read. */
  readonly result: Promise<CommandResult>
}

/** Connections to the ports of a pod that one client forwards; each is asked for by the client. */
export interface PortForwardClient {
  /** Ends when the client is gone. */
  readonly connections: AsyncIterable<ForwardedConnection>
}

export interface ForwardedConnection {
  readonly port: number
  readonly data: Duplex
  /** Tells the client why there is no connection, or why it broke. */
  fail(message: string): void
}
