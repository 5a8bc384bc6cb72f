/**
 * A configuration file that is read again while the server runs. A file that is missing or invalid leaves the current
 * configuration in force.
 */
import type { Platform } from '#/platform/platform.ts'

export interface ReloadedFile<T> {
  readonly path: string
  /** The content at the start. */
  readonly content: string
  /** Throws or rejects if the content is invalid. */
  readonly read: (text: string) => Promise<T>
}

/** The interval at which Kubernetes checks its configuration files. */
const checkMs = 60_000

/** Applies every new content until aborted. Resolves at once without a file. Never rejects. */
export async function followFile<T>(
  { clock, files, log }: Platform,
  file: ReloadedFile<T> | undefined,
  { apply, signal }: { readonly apply: (configuration: T) => void; readonly signal: AbortSignal },
): Promise<void> {
  if (file === undefined) return
  const { path, content, read } = file
  let known = content
  while (!signal.aborted) {
    await clock.sleep(checkMs, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const text = Buffer.from(await files.read(path)).toString()
      if (text === known) continue
      // An invalid content is reported once.
      known = text
      apply(await read(text))
      log.warn('reloaded configuration file', { path })
    } catch (error) {
      if (!signal.aborted)
        log.error('failed to reload configuration file, keeping the current one', { path, error })
    }
  }
}
