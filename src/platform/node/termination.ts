/**
 * Aborted on SIGTERM or SIGINT. The process exits at the deadline after the first signal, and immediately on
 * a second.
 */
export function terminationSignal({ deadlineMs }: { readonly deadlineMs: number }): AbortSignal {
  const asked = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (asked.signal.aborted) process.exit(1)
      setTimeout(() => process.exit(process.exitCode ?? 1), deadlineMs).unref()
      asked.abort(new Error(`received ${name}`))
    })
  }
  return asked.signal
}
