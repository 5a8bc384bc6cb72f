/** What every command is: a help text and something to run. A command's module exports one as `command`. */
export interface Command {
  /** Begins with the usage and ends with a line break. */
  readonly help: string
  /** Resolves to the exit code. What goes wrong is thrown; what `parseArgs` throws ends with code 2 and a hint. */
  run(parameters: readonly string[], terminal: Terminal): Promise<number>
}

/** Where a command's words go. */
export interface Terminal {
  write(text: string): void
  writeError(text: string): void
}
