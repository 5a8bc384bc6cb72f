import { computed, signal } from '@preact/signals'
import type { ApiResource, ObjectKey } from '../data/api-resource.ts'
import { resourceId } from '../data/api-resource.ts'
import { formatRoute, noNamespace, parseRoute, type Route } from './route.ts'

/** The address of the page. */
export const route = signal<Route>({ path: [], query: {} })

/** The namespace whose objects lists show; empty for all. It stays in the address while the path changes. */
export const namespace = computed(() => route.value.query['namespace'] ?? '')

export function startRouter(): void {
  const read = (): void => {
    const { index } = (history.state ?? {}) as { readonly index?: number }
    if (index === undefined) history.replaceState({ index: ++entry }, '')
    else entry = index
    route.value = parseRoute(location.hash)
  }
  addEventListener('hashchange', read)
  read()
}

/** Index of the address in the history of this page. */
let entry = -1

/** Goes to the previous address, but not to what was open before the console. */
export function goBack(): void {
  if (entry > 0) history.back()
}

type Query = Readonly<Record<string, string | undefined>>

/** The address of a list or view, in the same namespace unless the query says otherwise. */
export function hrefOf(path: readonly string[], query: Query = {}): string {
  return formatRoute(path, { namespace: namespace.value, ...query })
}

export function hrefOfObject(resource: ApiResource, key: ObjectKey, query: Query = {}): string {
  return hrefOf([resourceId(resource), key.namespace || noNamespace, key.name], query)
}

export function navigate(href: string): void {
  location.hash = href
}

/** Changes parameters of the address without an entry in the browser's history. */
export function replaceQuery(changes: Query): void {
  const { path, query } = route.peek()
  const href = formatRoute(path, { ...query, ...changes })
  history.replaceState({ index: entry }, '', href)
  route.value = parseRoute(href)
}
