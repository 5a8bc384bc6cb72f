/** A command: a help text and a function to run. A command's module exports it as `command`. */
export interface Command {
  /** Begins with the usage and ends with a line break. Absent if the command prints its help itself. */
  readonly help?: string
  /**
   * Resolves to the exit code. Errors are thrown; a UsageError leads to exit code 2 and a hint.
   */
  run(parameters: readonly string[], terminal: Terminal): Promise<number>
}

/** The output streams of a command. */
export interface Terminal {
  write(text: string): void
  writeError(text: string): void
}
