import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { ListState } from '../components/list-state.tsx'
import { findResource, listPath, type ApiResource } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { useTable } from '../data/subscriptions.ts'
import type { TableRow } from '../data/table-format.ts'
import { itemKey } from '../data/watch-cache.ts'
import { cellContent } from '../lists/grid-columns.tsx'
import { filterAndSort } from '../lists/sort-rows.ts'
import { Card } from './fields.tsx'
import type { RelatedList } from './related-lists.ts'

export interface RelatedCardProps {
  readonly list: RelatedList
  /** Of the object that the list belongs to. */
  readonly ownerUid: string
}

const rowsMax = 50

/** A short list of objects that belong to the object of the page. */
export function RelatedCard({ list, ownerUid }: RelatedCardProps): JSX.Element | null {
  const resource = findResource(discovery.value.resources, list.resource)
  if (resource === undefined) return null
  return (
    <Card title={list.title} isWide>
      <RelatedTable resource={resource} list={list} ownerUid={ownerUid} />
    </Card>
  )
}

interface RelatedTableProps extends RelatedCardProps {
  readonly resource: ApiResource
}

function RelatedTable({ resource, list, ownerUid }: RelatedTableProps): JSX.Element {
  const { namespace, parameters, isOwned } = list
  const selector = new URLSearchParams(parameters).toString()
  const query = useMemo(() => ({ path: listPath(resource, namespace), parameters }), [namespace, selector])
  const { phase, items, head = [], error } = useTable(query)
  const related = isOwned ? [...items.values()].filter(row => isOwnedBy(row, ownerUid)) : items.values()
  const rows = filterAndSort(related, head, { filter: '', order: undefined })
  const columns = head
    .map((column, index) => ({ column, index }))
    .filter(({ column }) => column.priority === 0)
  return (
    <>
      <ListState
        phase={phase}
        error={error}
        what={list.title}
        namespace={namespace}
        isEmpty={rows.length === 0}
      />
      {rows.length > 0 ? (
        <div class="table-scroll">
          <table class="table is-nowrap">
            <thead>
              <tr>
                {columns.map(({ column }) => (
                  <th key={column.name} scope="col" title={column.description}>
                    {column.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, rowsMax).map(row => (
                <tr key={itemKey(row.object.metadata)}>
                  {columns.map(place => (
                    <td key={place.column.name}>
                      {cellContent(row, { ...place, resource, isReachable: true })}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      {rows.length > rowsMax ? <p class="detail">and {rows.length - rowsMax} more</p> : null}
    </>
  )
}

function isOwnedBy({ object }: TableRow, ownerUid: string): boolean {
  return object.metadata.ownerReferences?.some(({ uid }) => uid === ownerUid) ?? false
}
