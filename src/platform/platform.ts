/**
 * The only interface to the machine. A `Platform` is passed in, without a default, so that the same code runs
 * on a real machine (`platform/node`) and in a simulation (`platform/simulated`) with virtual time and all
 * faults drawn from one seed.
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
  /** Wall-clock time in milliseconds since 1970, with fractions. May jump, also backwards. */
  now(): number
  /** Milliseconds since an arbitrary moment; never decreases. For measuring durations. */
  monotonicMs(): number
  /** Calls back once, not before the delay has passed. A pending timer keeps the process alive. */
  setTimer(delayMs: number, callback: () => void): Timer
  /** Resolves after the delay; rejects with the signal's reason if aborted before. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>
  /**
   * Resolves in the next turn of the event loop, after everything that was ready has run. In a simulation no
   * time passes.
   */
  turn(): Promise<void>
  /**
   * Names the work that begins, such as `request` and the path, until the next call. A turn of the event loop that
   * takes long is reported with it.
   */
  beginWork(kind: string, detail: string): void
}

export interface Timer {
  cancel(): void
}

/**
 * Random numbers. Each draw has a label, and each label its own stream, so that in a simulation an additional
 * draw in one place does not change the draws elsewhere.
 */
export interface Random {
  /** A number in [0, 1). */
  fraction(label: string): number
  /** An integer in [0, `below`). */
  integer(label: string, below: number): number
  /** Cryptographically secure on a real machine. */
  bytes(label: string, length: number): Uint8Array
  uuid(label: string): string
}

export interface Network {
  /** Starts accepting connections; port 0 picks a free one. Rejects if the address is in use. */
  listen(address: SocketAddress, onConnection: OnConnection): Promise<Listener>
  /** Rejects if the connection is refused, the network is partitioned, or the signal is aborted. */
  connect(address: SocketAddress, signal?: AbortSignal): Promise<Duplex>
  /** A socket for datagrams, which may be lost, duplicated or reordered. */
  bindDatagram(
    address: SocketAddress,
    onMessage: (message: Uint8Array, from: SocketAddress) => void,
  ): Promise<DatagramSocket>
}

/** `from` is the address of the client; empty for a unix socket. */
export type OnConnection = (connection: Duplex, from: string) => void

/** A TCP or UDP address, or the path of a unix socket. */
export type SocketAddress = { readonly host: string; readonly port: number } | { readonly path: string }

export interface Listener extends AsyncDisposable {
  readonly address: SocketAddress
}

export interface DatagramSocket extends AsyncDisposable {
  readonly address: SocketAddress
  send(message: Uint8Array, to: SocketAddress): void
}

/** Paths are absolute. Errors have Node's `code`: ENOENT for a missing file, EEXIST and so on. */
export interface Files {
  read(path: string): Promise<Uint8Array>
  /** Atomic, and on disk when resolved: a crash leaves either the old content or the new. */
  write(path: string, content: Uint8Array | string, options?: { readonly mode?: number }): Promise<void>
  /** Opens a file to append to, creating it when missing. */
  openAppend(path: string, options?: { readonly mode?: number }): Promise<AppendFile>
  /** Creates a file to append to; one that exists is emptied. The name is not durable. */
  create(path: string): Promise<AppendFile>
  /** Opens an existing file for reads at any position. */
  openRead(path: string): Promise<ReadFile>
  /** Starts a writer, e.g. for the files of a log. */
  openWriter(): Promise<FileWriter>
  truncate(path: string, sizeBytes: number): Promise<void>
  /** Adds a second name for the content of a file; EEXIST when the name is taken. Durable like `rename`. */
  link(existing: string, added: string): Promise<void>
  /**
   * Locks a file, which is created when missing, until it is released or the process ends in any way. Undefined
   * when it is locked already.
   */
  lock(path: string): Promise<AsyncDisposable | undefined>
  rename(from: string, to: string): Promise<void>
  /** Removes a file, or a folder recursively; does nothing if the path does not exist. */
  remove(path: string): Promise<void>
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>
  /** Names in a folder, sorted. */
  list(path: string): Promise<string[]>
  stat(path: string): Promise<FileStatus | undefined>
  /** The path without symbolic links; rejects if it does not exist. */
  realPath(path: string): Promise<string>
  /** Target of a symbolic link; undefined for anything else. */
  readLink(path: string): Promise<string | undefined>
}

export interface FileStatus {
  readonly sizeBytes: number
  readonly isFolder: boolean
  /** A regular file; opening anything else may block, e.g. a FIFO without a writer. */
  readonly isFile: boolean
  readonly modifiedMs: number
  readonly mode: number
  readonly uid: number
  readonly gid: number
}

export interface AppendFile extends AsyncDisposable {
  /**
   * Appended but not durable: until `sync` has resolved, a crash may lose the bytes or keep only a part of
   * them.
   */
  append(bytes: Uint8Array): Promise<void>
  sync(): Promise<void>
}

export interface ReadFile extends AsyncDisposable {
  /**
   * Synchronous, since most reads are answered from the page cache. Returns fewer bytes only at the end of the
   * file.
   */
  read(positionBytes: number, lengthBytes: number): Uint8Array
}

/** Writes to files at any position, without blocking the event loop. Calls are executed one after the other. */
export interface FileWriter extends AsyncDisposable {
  /**
   * Executes the steps in order. Rejects with the first error, whose `step` is the index of the failed step: the
   * steps before it had their effect, a failed write may have written a part, and the steps after it were not
   * executed.
   */
  perform(steps: readonly FileStep[]): Promise<void>
}

export type FileStep =
  /**
   * Creates the file when missing, with mode 0600, and extends it when needed. Not durable before a `sync`. The
   * bytes must not be used by the caller afterwards.
   */
  | {
      readonly type: 'write'
      readonly path: string
      readonly positionBytes: number
      readonly bytes: Uint8Array<ArrayBuffer>
    }
  /** Makes all earlier writes to the file durable, and its name if this writer created it. */
  | { readonly type: 'sync'; readonly path: string }
  /** Ends the use of the file by this writer, e.g. before it is renamed. */
  | { readonly type: 'close'; readonly path: string }

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
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGHUP' | 'SIGINT' | 'SIGUSR2'): void
}

export type ProcessExit = { readonly code: number } | { readonly signal: string }

/** Structured: a constant message and variable fields. Fields must not contain secrets. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** A log that adds these fields to every line. */
  with(fields: LogFields): Log
}

export type LogFields = Readonly<Record<string, unknown>>
