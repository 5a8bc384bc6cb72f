/**
 * The standard streams of a program and the terminal behind them, for commands that a user runs interactively.
 * Long-running components use `Platform` and its log instead.
 */
import type { ProcessExit } from './platform.ts'

export interface IOStreams {
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  /** Same as `stdout.write`, so that this is also the terminal of a `Command`. */
  write(output: string | Uint8Array): void
  /** Same as `stderr.write`. */
  writeError(output: string | Uint8Array): void
  /**
   * Switches the terminal at stdin to raw mode, in which each key is read at once, without echo or signals. Does
   * nothing if stdin is not a terminal. The mode is restored on disposal, and when the process ends.
   */
  raw(): Disposable
  /** Aborted on the first SIGINT after the call. The next one ends the process. */
  interrupted(): AbortSignal
  /**
   * Runs a program in the foreground, with this process' standard streams. Signals that this process receives meanwhile
   * are passed to it. Rejects with the system's error `code` when it cannot be started.
   */
  runInteractive(command: readonly string[], options?: InteractiveOptions): Promise<InteractiveExit>
}

export interface InputStream {
  readonly isTerminal: boolean
  /** Ends with the input, or when the signal is aborted. What was not read yet can be read by a later call. */
  bytes(signal?: AbortSignal): AsyncIterable<Uint8Array>
  /**
   * Reads a line, without its end. Undefined if the input ended before it. The prompt is written to stdout. Without
   * `echo` a terminal does not show what is typed.
   */
  readLine(options?: { readonly prompt?: string; readonly echo?: boolean }): Promise<string | undefined>
}

export interface OutputStream {
  readonly isTerminal: boolean
  /** Files and terminals are written at once; what a pipe does not take is buffered, and `drained` waits for it. */
  write(output: string | Uint8Array): void
  /** Resolves when the buffer has room again, which is immediately as a rule. Rejects if a write has failed. */
  drained(): Promise<void>
  /** Resolves when all output is written. Rejects if a write has failed. */
  flushed(): Promise<void>
  /** Undefined if this is not a terminal. */
  size(): TerminalSize | undefined
  /** The size of the terminal now and after each change, until aborted. Empty if this is not a terminal. */
  sizes(signal: AbortSignal): AsyncIterable<TerminalSize>
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface InteractiveOptions {
  /** Added to the variables of this process. */
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
  /** What the program reads instead of stdin. */
  readonly input?: 'inherit' | 'nothing'
  /** Returns the output of the program instead of passing it on; a larger output ends the program and is an error. */
  readonly capture?: { readonly sizeBytesMax: number }
}

export interface InteractiveExit {
  readonly exit: ProcessExit
  /** The exit status as shells report it: the code, or 128 and the number of the signal. */
  readonly status: number
  /** Empty without `capture`. */
  readonly output: Uint8Array
}
