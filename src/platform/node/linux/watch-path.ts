import { watch } from 'node:fs'

/**
 * Maximum backlog of unread names; beyond it they collapse into one `undefined`, which means rescan
 * everything.
 */
const namesMax = 256

export async function* watchPath(path: string, signal: AbortSignal): AsyncIterable<string | undefined> {
  if (signal.aborted) return
  const names = new Set<string | undefined>()
  let wake = (): void => undefined
  let failure: Error | undefined
  const watcher = watch(path, (_, name) => {
    if (names.has(undefined)) return
    const isLost = name === null || names.size >= namesMax
    if (isLost) names.clear()
    names.add(isLost ? undefined : name)
    wake()
  })
  watcher.on('error', error => {
    failure = error
    wake()
  })
  const abort = (): void => wake()
  signal.addEventListener('abort', abort)
  try {
    while (!signal.aborted) {
      if (failure) throw failure
      const [name] = names
      if (names.delete(name)) yield name
      else await new Promise<void>(resolve => (wake = resolve))
    }
  } finally {
    signal.removeEventListener('abort', abort)
    watcher.close()
  }
}
