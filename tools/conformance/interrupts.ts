/**
 * Ctrl-C and SIGTERM: the first stops the suite in good order, the second kills it. The cluster is removed
 * either way.
 */
export interface Interrupts {
  readonly stop: AbortSignal
  readonly kill: AbortSignal
}

export function listenForInterrupts(onInterrupt: (line: string) => void): Interrupts & Disposable {
  const stop = new AbortController()
  const kill = new AbortController()
  let firstMs = 0
  const interrupt = (signal: NodeJS.Signals): void => {
    if (!stop.signal.aborted) {
      firstMs = performance.now()
      onInterrupt('stopping; a second interrupt kills the suite')
      stop.abort(new Error(`interrupted by ${signal}`))
    } else if (performance.now() - firstMs > echoMs && !kill.signal.aborted) {
      onInterrupt('killing the suite')
      kill.abort(new Error(`interrupted twice, by ${signal}`))
    }
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  return {
    stop: stop.signal,
    kill: kill.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', interrupt)
      process.off('SIGTERM', interrupt)
    },
  }
}

/** One ctrl-C arrives twice below `npm run`: from the terminal, and passed on by npm. */
const echoMs = 1_000
