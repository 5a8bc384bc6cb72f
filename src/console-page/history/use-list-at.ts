import { useEffect, useRef, useState } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { getJson } from '../data/api-request.ts'
import { objectFormat } from '../data/object-format.ts'
import { useObjects, useTable } from '../data/subscriptions.ts'
import { tableFormat, type TableColumn, type TableRow } from '../data/table-format.ts'
import { itemKey, type ListFormat, type ListMessage } from '../data/watch-cache.ts'
import type { ListQuery, WatchSnapshot } from '../data/watched-list.ts'

/** As `useTable`, or the list as it was at a moment: a revision, or an RFC 3339 time. */
export function useTableAt(
  query: ListQuery | undefined,
  at: string | undefined,
): WatchSnapshot<TableRow, readonly TableColumn[]> {
  const current = useTable(at === undefined ? query : undefined)
  const past = useListAt(query, { at, format: tableFormat })
  return useLastRead(at === undefined ? current : past, query?.path)
}

/** As `useObjects`, or the list as it was at a moment. */
export function useObjectsAt(
  query: ListQuery | undefined,
  at: string | undefined,
): WatchSnapshot<KubernetesObject> {
  const current = useObjects(at === undefined ? query : undefined)
  const past = useListAt(query, { at, format: objectFormat })
  return useLastRead(at === undefined ? current : past, query?.path)
}

/** The list that was shown last stays until the first page of another moment is read. */
function useLastRead<T, Head>(
  snapshot: WatchSnapshot<T, Head>,
  path: string | undefined,
): WatchSnapshot<T, Head> {
  const last = useRef({ path, snapshot })
  const isRead = snapshot.phase !== 'loading' || snapshot.items.size > 0
  if (isRead || last.current.path !== path) last.current = { path, snapshot }
  return last.current.snapshot
}

interface PastOptions<T, Head> {
  readonly at: string | undefined
  readonly format: ListFormat<T, Head>
}

/** A list of the past does not change. The last one stays until the next is read. */
function useListAt<T, Head>(
  query: ListQuery | undefined,
  { at, format }: PastOptions<T, Head>,
): WatchSnapshot<T, Head> {
  const [state, setState] = useState<WatchSnapshot<T, Head>>(loading)
  const key = query && `${query.path}?${new URLSearchParams(query.parameters)}`
  useEffect(() => {
    if (at === undefined || query === undefined) {
      setState(loading)
      return undefined
    }
    const ended = new AbortController()
    const parameters = new URLSearchParams({ ...query.parameters, at })
    const read = async (): Promise<void> => {
      try {
        const options = { accept: format.accept, signal: ended.signal }
        const list = await getJson<ListMessage>(`${query.path}?${parameters}`, options)
        const { items, head } = format.readPage(list)
        const byKey = new Map(items.map(item => [itemKey(format.metadataOf(item)), item]))
        setState({ phase: 'live', items: byKey, head, error: undefined })
      } catch (thrown) {
        if (ended.signal.aborted) return
        const error = thrown instanceof Error ? thrown : new Error(String(thrown))
        setState({ ...loading, phase: 'refused', error })
      }
    }
    void read()
    return () => ended.abort()
  }, [key, at])
  return state
}

const loading: WatchSnapshot<never, never> = {
  phase: 'loading',
  items: new Map<string, never>(),
  head: undefined,
  error: undefined,
}
