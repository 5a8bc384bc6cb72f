/** The message of whatever was thrown: anything can be thrown, not only errors. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
