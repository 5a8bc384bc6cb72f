/**
 * Sessions between a client and a process in a container (exec, attach), and between a client and a pod port
 * (port-forward). The interfaces are independent of the transport: WebSocket, SPDY/3.1, or none in a
 * simulation. All streams have backpressure.
 */
import type { Duplex } from 'node:stream'
import type { TerminalSize } from '#/platform/io-streams.ts'

export type { TerminalSize } from '#/platform/io-streams.ts'

/** Streams of a command. With a TTY, stderr is merged into stdout. */
export interface CommandOptions {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** Result of a command, or why it did not run. */
export type CommandResult =
  | { readonly type: 'exited'; readonly code: number }
  /** Human-readable error. */
  | { readonly type: 'failed'; readonly message: string }

/** Client side of a command session. */
export interface CommandClient {
  readonly options: CommandOptions
  /** Ends when the client closes stdin; throws if the connection broke. Empty without stdin. */
  readonly stdin: AsyncIterable<Uint8Array>
  readonly sizes: AsyncIterable<TerminalSize>
  /** Resolve when more can be written. Do nothing once the client has disconnected. */
  writeStdout(bytes: Uint8Array): Promise<void>
  writeStderr(bytes: Uint8Array): Promise<void>
  /** Sends the result. Resolves when it is sent and the connection is closed. */
  finish(result: CommandResult): Promise<void>
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** Process side of a command session. */
export interface CommandProcess extends AsyncDisposable {
  /** Empty if the stream was not requested. Ends when the process exits or closes it. */
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
  /** Resolves when more can be written; does nothing after the process has ended. */
  writeStdin(bytes: Uint8Array): Promise<void>
  /** Closes stdin. */
  endStdin(): void
  resize(size: TerminalSize): void
  /** Resolves once the process has exited and all its output can be read. */
  readonly result: Promise<CommandResult>
}

/** Connections of one port-forward client to ports of a pod. */
export interface PortForwardClient {
  /** Ends when the client disconnects. */
  readonly connections: AsyncIterable<ForwardedConnection>
}

export interface ForwardedConnection {
  readonly port: number
  readonly data: Duplex
  /** Sends an error to the client and closes the connection. */
  fail(message: string): void
}
