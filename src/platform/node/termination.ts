/**
 * Aborted when somebody wants the process to end. What has not ended by the deadline is ended; who asks a
 * second time does not have to wait.
 */
export function terminationSignal({ deadlineMs }: { readonly deadlineMs: number }): AbortSignal {
  const asked = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (asked.signal.aborted) process.exit(1)
      setTimeout(() => process.exit(process.exitCode ?? 1), deadlineMs).unref()
      asked.abort(new Error(`ended by ${name}`))
    })
  }
  return asked.signal
}
