/**
 * Everything the program may ask of the machine it runs on. A `Platform` is passed in, without a default, so that
 * the same code runs on a real machine (`platform/node`) and in a simulation (`platform/simulated`) where time is
 * virtual and every fault comes from one seed. There is no other way to the machine.
 */
import type { Duplex } from 'node:stream'

export interface Platform {
  readonly clock: Clock
  readonly random: Random
  readonly network: Network
  readonly files: Files
  readonly processes: Processes
  readonly log: Log
}

export interface Clock {
  /** Wall time in milliseconds since 1970, fractions included. It may jump, also backwards. */
  now(): number
  /** Milliseconds since some fixed moment; never goes back. For measuring how long something took. */
  monotonicMs(): number
  /** Calls back once, not before the delay has passed. A pending timer keeps the process alive. */
  setTimer(delayMs: number, callback: () => void): Timer
  /** Resolves after the delay; rejects with the signal's reason when aborted before that. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
  /** Resolves in the next turn of the event loop, once everything that was ready to run has run. No time passes. */
  turn(): Promise<void>
}

export interface Timer {
  cancel(): void
}

/**
 * Draws carry a label that says what is drawn. Each label has a stream of its own, so that in a simulation one more
 * draw in one place leaves the draws of all other places as they were.
 */
export interface Random {
  /** A number from 0 up to, not including, 1. */
  fraction(label: string): number
  /** A whole number from 0 up to, not including, `below`. */
  integer(label: string, below: number): number
  /** Fit for keys and tokens on a real machine. */
  bytes(label: string, length: number): Uint8Array
  uuid(label: string): string
}

export interface Network {
  /** Starts accepting connections; port 0 picks a free one. Rejects when the address is taken. */
  listen(address: SocketAddress, onConnection: (connection: Duplex) => void): Promise<Listener>
  /** Rejects when nobody listens, when the network is cut, or when aborted. */
  connect(address: SocketAddress, signal?: AbortSignal): Promise<Duplex>
  /** A socket for messages that may be lost, repeated or overtaken. */
  bindDatagram(
    address: SocketAddress,
    onMessage: (message: Uint8Array, from: SocketAddress) => void,
  ): Promise<DatagramSocket>
}

/** A TCP or UDP address, or the path of a unix socket. */
export type SocketAddress = { readonly host: string; readonly port: number } | { readonly path: string }

export interface Listener extends AsyncDisposable {
  readonly address: SocketAddress
}

export interface DatagramSocket extends AsyncDisposable {
  readonly address: SocketAddress
  send(message: Uint8Array, to: SocketAddress): void
}

/**
 * Paths are absolute. A missing file is an error with `code: 'ENOENT'`, as Node has it; likewise EEXIST and
 * the rest.
 */
export interface Files {
  read(path: string): Promise<Uint8Array>
  /** All or nothing, and on disk when resolved: a crash leaves either the old content or the new. */
  write(path: string, content: Uint8Array | string, options?: { readonly mode?: number }): Promise<void>
  /** Opens a file to append to, creating it when missing. */
  openAppend(path: string, options?: { readonly mode?: number }): Promise<AppendFile>
  truncate(path: string, sizeBytes: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Removes a file or a whole folder; nothing there is fine. */
  remove(path: string): Promise<void>
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>
  stat(path: string): Promise<FileStatus | undefined>
}

export interface FileStatus {
  readonly sizeBytes: number
  readonly isFolder: boolean
  readonly modifiedMs: number
  readonly mode: number
}

export interface AppendFile extends AsyncDisposable {
  /** Appended but not yet safe: a crash may lose it, or keep only a part of it, until `sync` has resolved. */
  append(bytes: Uint8Array): Promise<void>
  sync(): Promise<void>
}

export interface Processes {
  /** Rejects when the program cannot be started. Aborting the signal kills it. */
  start(command: readonly string[], options?: ProcessOptions): Promise<Process>
}

export interface ProcessOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
  readonly signal?: AbortSignal
}

export interface Process {
  readonly pid: number
  readonly stdin: NodeJS.WritableStream
  readonly stdout: NodeJS.ReadableStream
  readonly stderr: NodeJS.ReadableStream
  readonly exited: Promise<ProcessExit>
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGHUP' | 'SIGINT'): void
}

export type ProcessExit = { readonly code: number } | { readonly signal: string }

/** Structured: a message that is the same every time and fields that differ. Never a secret in a field. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A log whose every line carries these fields too. */
  with(fields: LogFields): Log
}

export type LogFields = Readonly<Record<string, unknown>>
