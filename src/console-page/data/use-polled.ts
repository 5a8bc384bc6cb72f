import { useEffect, useRef, useState } from 'preact/hooks'
import { requestApi } from './api-request.ts'

export interface Polled<T> {
  /** The latest answer; it stays while later requests fail. */
  readonly data: T | undefined
  /** Wall time of the latest answer. */
  readonly timeMs: number
  /** Why the latest request failed. */
  readonly error: Error | undefined
}

export interface PollOptions<T> {
  /** A path of the API server; nothing is read while it is undefined. */
  readonly path: string | undefined
  readonly intervalMs: number
  /** The same function for the lifetime of the component. */
  readonly read: (response: Response) => Promise<T>
}

const nothing = { data: undefined, timeMs: 0, error: undefined }

/** Reads a path again and again while the component is mounted and the page is visible. */
export function usePolled<T>({ path, intervalMs, read }: PollOptions<T>): Polled<T> {
  const [state, setState] = useState<Polled<T> & { readonly path: string | undefined }>({ ...nothing, path })
  const reader = useRef(read)
  useEffect(() => {
    if (path === undefined) return undefined
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') {
        try {
          const data = await reader.current(await requestApi(path, { accept: '*/*', signal: ended.signal }))
          if (!ended.signal.aborted) setState({ path, data, timeMs: Date.now(), error: undefined })
        } catch (thrown) {
          const error = thrown instanceof Error ? thrown : new Error(String(thrown))
          if (!ended.signal.aborted) {
            setState(old => (old.path === path ? { ...old, error } : { ...nothing, path, error }))
          }
        }
      }
      if (ended.signal.aborted) return
      clearTimeout(timer)
      timer = setTimeout(() => void poll(), intervalMs)
    }
    const onVisible = (): void => {
      if (document.visibilityState === 'visible') void poll()
    }
    document.addEventListener('visibilitychange', onVisible)
    void poll()
    return () => {
      ended.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [path, intervalMs])
  return state.path === path ? state : nothing
}

export async function readJson<T>(response: Response): Promise<T> {
  return (await response.json()) as T
}
