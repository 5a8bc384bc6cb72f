import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { objectFormat } from './object-format.ts'
import { tableFormat, type TableColumn, type TableRow } from './table-format.ts'
import type { ListFormat } from './watch-cache.ts'
import { WatchedList, type ListQuery, type WatchSnapshot } from './watched-list.ts'

/** A list stays watched for this time after its last user, so that going back shows it at once. */
const lingerMs = 5_000

/** One watched list with the number of its users. */
class Subscription<T, Head> {
  readonly #list: WatchedList<T, Head>
  #users = 0
  #running: AbortController | undefined
  #linger: ReturnType<typeof setTimeout> | undefined

  constructor(query: ListQuery, format: ListFormat<T, Head>) {
    this.#list = new WatchedList(query, format)
  }

  get snapshot(): ReadonlySignal<WatchSnapshot<T, Head>> {
    return this.#list.snapshot
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  retain(): void {
    this.#users++
    clearTimeout(this.#linger)
    if (this.#running) return
    this.#running = new AbortController()
    void this.#list.run(this.#running.signal)
    countRunning()
  }

  release(whenStopped: () => void): void {
    this.#users--
    if (this.#users > 0) return
    this.#linger = setTimeout(() => {
      this.#running?.abort()
      this.#running = undefined
      whenStopped()
      countRunning()
    }, lingerMs)
  }
}

const subscriptions = new Map<string, Subscription<never, never>>()

/** Changes when a list starts or stops being watched. */
const running = signal(0)

function countRunning(): void {
  running.value++
}

/** State of all watches together. */
export const connection = computed<'live' | 'reconnecting'>(() => {
  void running.value
  const phases = [...subscriptions.values()].flatMap(each =>
    each.isRunning ? [each.snapshot.value.phase] : [],
  )
  return phases.includes('reconnecting') ? 'reconnecting' : 'live'
})

/** Rows of the table of a resource, current while the component is mounted. */
export function useTable(query: ListQuery | undefined): WatchSnapshot<TableRow, readonly TableColumn[]> {
  return useSubscription(query, tableFormat)
}

/** Objects, current while the component is mounted. */
export function useObjects<T extends KubernetesObject>(query: ListQuery | undefined): WatchSnapshot<T> {
  return useSubscription(query, objectFormat as unknown as ListFormat<T>)
}

const empty: WatchSnapshot<never, never> = {
  phase: 'loading',
  items: new Map<string, never>(),
  head: undefined,
  error: undefined,
}

function useSubscription<T, Head>(
  query: ListQuery | undefined,
  format: ListFormat<T, Head>,
): WatchSnapshot<T, Head> {
  const key = query && `${format.accept} ${query.path}?${new URLSearchParams(query.parameters).toString()}`
  const subscription =
    key === undefined || query === undefined ? undefined : subscribe(key, { query, format })
  useEffect(() => {
    if (key === undefined || subscription === undefined) return undefined
    subscription.retain()
    return () => subscription.release(() => subscriptions.delete(key))
  }, [key])
  return subscription?.snapshot.value ?? empty
}

interface Wanted<T, Head> {
  readonly query: ListQuery
  readonly format: ListFormat<T, Head>
}

function subscribe<T, Head>(key: string, { query, format }: Wanted<T, Head>): Subscription<T, Head> {
  const existing = subscriptions.get(key) as unknown as Subscription<T, Head> | undefined
  if (existing) return existing
  const created = new Subscription(query, format)
  subscriptions.set(key, created as unknown as Subscription<never, never>)
  return created
}
