import { signal, useSignal, useSignalEffect } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { FilterField } from '../components/filter-field.tsx'
import { Grid } from '../components/grid.tsx'
import { ListState } from '../components/list-state.tsx'
import { listPath, resourceId, type ApiResource, type ObjectKey } from '../data/api-resource.ts'
import { useTable } from '../data/subscriptions.ts'
import type { TableRow } from '../data/table-format.ts'
import { itemKey } from '../data/watch-cache.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import { hrefOfObject, namespace, navigate, replaceQuery, route } from '../router/router.ts'
import { pluralOf } from '../shell/navigation.ts'
import { useObjectActions } from './object-actions.tsx'
import { cellWidths, gridColumns } from './grid-columns.tsx'
import { filterAndSort, nextSortOrder, parseSortOrder } from './sort-rows.ts'

/** True where a list has room for two or three columns. */
const isNarrow = signal(false)

const narrowQuery = matchMedia('(max-width: 700px)')
const measurePage = (): void => {
  isNarrow.value = narrowQuery.matches
}
narrowQuery.addEventListener('change', measurePage)
measurePage()

/** The row that was selected last in the list of each resource, for when the user comes back. */
const cursors = new Map<string, string | undefined>()

/** All objects of a resource in the selected namespace, with the columns of `kubectl get`. */
export function ResourceList({ resource }: { readonly resource: ApiResource }): JSX.Element {
  const within = resource.namespaced ? namespace.value : ''
  const query = useMemo(() => listQuery(resource, within), [resourceId(resource), within])
  const { phase, items, head = [], error } = useTable(query)
  const { filter = '', sort, wide } = route.value.query
  const order = parseSortOrder(sort)
  const isWide = wide === 'true'
  const cursor = useSignal(cursors.get(resourceId(resource)))
  useSignalEffect(() => void cursors.set(resourceId(resource), cursor.value))
  const rows = filterAndSort(items.values(), head, { filter, order })
  const widths = useGrowingWidths(rows, resourceId(resource))
  const narrow = isNarrow.value
  const hasNamespace = resource.namespaced && within === ''
  const columns = useMemo(
    () => gridColumns(head, { resource, hasNamespace, isWide, isNarrow: narrow, widths }),
    [head, hasNamespace, isWide, narrow, widths.join()],
  )
  const keyOf = (row: TableRow): string => itemKey(row.object.metadata)
  const open = (row: TableRow): void => navigate(hrefOfObject(resource, objectKeyOf(row)))
  const selected = (): ObjectKey | undefined => {
    const row = items.get(cursor.peek() ?? '')
    return row && objectKeyOf(row)
  }
  const confirmation = useObjectActions(resource, selected)
  useEffect(() => {
    document.title = `${pluralOf(resource)} - k8ts`
  }, [resourceId(resource)])
  return (
    <div class="list-view">
      <ListHeader
        title={pluralOf(resource)}
        count={countText({ shown: rows.length, all: items.size, isLoading: phase === 'loading' })}
      />
      <ListState
        phase={phase}
        error={error}
        what={resourceId(resource)}
        namespace={within}
        isEmpty={rows.length === 0}
      />
      {items.size > 0 ? (
        <Grid
          label={pluralOf(resource)}
          columns={columns}
          rows={rows}
          keyOf={keyOf}
          cursor={cursor}
          onOpen={open}
          sort={order}
          onSort={column => replaceQuery({ sort: nextSortOrder(column, order) })}
        />
      ) : null}
      {confirmation}
    </div>
  )
}

function ListHeader({ title, count }: { readonly title: string; readonly count: string }): JSX.Element {
  const { filter = '', wide } = route.value.query
  const toggleWide = (): void => replaceQuery({ wide: wide === 'true' ? undefined : 'true' })
  useKeys([{ keys: 'w', title: 'Wide columns', run: toggleWide }])
  return (
    <header class="view-header">
      <h1>{title}</h1>
      <p class="count">{count}</p>
      <span class="view-header-space" />
      <FilterField label="Filter" value={filter} onInput={text => replaceQuery({ filter: text })} />
      <label class="check">
        <input type="checkbox" checked={wide === 'true'} onChange={toggleWide} />
        Wide
      </label>
    </header>
  )
}

function listQuery(resource: ApiResource, within: string) {
  return { path: listPath(resource, within), isWatched: resource.verbs.includes('watch') }
}

function objectKeyOf({ object }: TableRow): ObjectKey {
  const { namespace = '', name = '' } = object.metadata
  return { namespace, name }
}

/** Columns grow with their content, but do not shrink while the list is shown: they would move under the pointer. */
function useGrowingWidths(rows: readonly TableRow[], list: string): readonly number[] {
  const known = useRef<{ readonly list: string; readonly widths: readonly number[] }>({ list, widths: [] })
  const old = known.current.list === list ? known.current.widths : []
  const widths = cellWidths(rows).map((width, index) => Math.max(width, old[index] ?? 0))
  known.current = { list, widths: widths.length > 0 ? widths : old }
  return known.current.widths
}

interface Counts {
  readonly shown: number
  readonly all: number
  readonly isLoading: boolean
}

function countText({ shown, all, isLoading }: Counts): string {
  const count =
    shown === all ? all.toLocaleString('en') : `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}`
  return isLoading ? `${count}, reading` : count
}
