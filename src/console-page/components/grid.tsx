import { useSignal, type Signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useKeys, type KeyBinding } from '../keyboard/key-bindings.ts'
import { scrollTopFor, virtualWindow } from './virtual-window.ts'

export interface GridColumn<T> {
  readonly title: string
  /** In characters, without the padding. */
  readonly width: number
  /** Takes the space that is left. */
  readonly grows?: boolean
  readonly isNumber?: boolean
  readonly description?: string | undefined
  readonly cell: (row: T) => ComponentChildren
}

export interface GridProps<T> {
  readonly label: string
  readonly columns: readonly GridColumn<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** Key of the row that the keyboard acts on. */
  readonly cursor: Signal<string | undefined>
  readonly onOpen?: (row: T) => void
  readonly sort?: { readonly column: string; readonly descending: boolean } | undefined
  /** Called with the title of a column; without it, columns cannot be sorted. */
  readonly onSort?: (column: string) => void
}

/** Height of a row in pixels, as `--row-height` in the style sheet. */
const rowHeight = 32
const overscan = 16

/** A long list as a grid: only the visible rows are in the document. */
export function Grid<T>(props: GridProps<T>): JSX.Element {
  const { label, columns, rows, keyOf, cursor } = props
  const id = useId()
  const element = useRef<HTMLDivElement>(null)
  const view = useSignal({ scrollTop: 0, viewHeight: 800 })
  const measure = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = element.current ?? {}
    const next = { scrollTop, viewHeight: Math.max(0, clientHeight - rowHeight) }
    const old = virtualWindow({ ...view.peek(), count: rows.length, rowHeight, overscan })
    const now = virtualWindow({ ...next, count: rows.length, rowHeight, overscan })
    if (old.start !== now.start || old.end !== now.end) view.value = next
  }
  useLayoutEffect(measure)
  useLayoutEffect(() => {
    const index = rows.findIndex(row => keyOf(row) === cursor.peek())
    if (element.current && index !== -1) showRow(element.current, index)
  }, [])
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  useGridKeys(props, element)
  const shown = virtualWindow({ ...view.value, count: rows.length, rowHeight, overscan })
  const visible = rows.slice(shown.start, shown.end)
  const active = visible.findIndex(row => keyOf(row) === cursor.value)
  const template = columns.map(columnWidth).join(' ')
  return (
    <div
      ref={element}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={active === -1 ? undefined : `${id}-${shown.start + active}`}
      style={{ '--columns': template, '--rows': String(rows.length) }}
      onScroll={measure}
    >
      <GridHead {...props} />
      <div class="grid-body" role="rowgroup" style={{ height: `${shown.totalHeight}px` }}>
        {visible.map((row, index) => (
          <GridRow
            key={keyOf(row)}
            {...props}
            row={row}
            id={`${id}-${shown.start + index}`}
            index={shown.start + index}
          />
        ))}
      </div>
    </div>
  )
}

/** With room for the padding, and for the mark of a state or a sort order. */
function columnWidth({ width, grows }: GridColumn<never>): string {
  const size = `calc(${width}ch + 42px)`
  return grows ? `minmax(${size}, 1fr)` : size
}

function GridHead<T>({ columns, sort, onSort }: GridProps<T>): JSX.Element {
  return (
    <div class="grid-head" role="rowgroup">
      <div class="grid-row" role="row" aria-rowindex={1}>
        {columns.map(({ title, isNumber, description }) => {
          const direction =
            sort?.column === title ? (sort.descending ? 'descending' : 'ascending') : undefined
          return (
            <div
              key={title}
              role="columnheader"
              aria-sort={direction ?? 'none'}
              class={`grid-cell${isNumber ? ' is-number' : ''}`}
              title={description}
            >
              {onSort ? (
                <button type="button" tabIndex={-1} onClick={() => onSort(title)}>
                  {title}
                  {direction ? <span class={`sort-mark ${direction}`} aria-hidden="true" /> : null}
                </button>
              ) : (
                <span>{title}</span>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface GridRowProps<T> extends GridProps<T> {
  readonly row: T
  readonly id: string
  readonly index: number
}

function GridRow<T>({ row, id, index, columns, keyOf, cursor, onOpen }: GridRowProps<T>): JSX.Element {
  const key = keyOf(row)
  return (
    <div
      id={id}
      class={`grid-row${index % 2 === 1 ? ' is-odd' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={cursor.value === key}
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      onClick={() => (cursor.value = key)}
      onDblClick={() => onOpen?.(row)}
    >
      {columns.map(({ title, isNumber, cell }) => (
        <div key={title} role="gridcell" class={`grid-cell${isNumber ? ' is-number' : ''}`}>
          {cell(row)}
        </div>
      ))}
    </div>
  )
}

function showRow(grid: HTMLElement, index: number): void {
  const { scrollTop, clientHeight } = grid
  grid.scrollTop = scrollTopFor(index, { rowHeight, scrollTop, viewHeight: clientHeight - rowHeight })
}

function useGridKeys<T>(
  { rows, keyOf, cursor, onOpen }: GridProps<T>,
  element: { readonly current: HTMLDivElement | null },
): void {
  const moveTo = (index: number): void => {
    const at = Math.max(0, Math.min(rows.length - 1, index))
    const row = rows[at]
    const grid = element.current
    if (row === undefined || grid === null) return
    cursor.value = keyOf(row)
    showRow(grid, at)
    // Screen readers read the active row of the element with the focus.
    if (document.activeElement === document.body) grid.focus({ preventScroll: true })
  }
  const current = (): number => rows.findIndex(row => keyOf(row) === cursor.peek())
  const pageRows = (): number => Math.max(1, Math.floor((element.current?.clientHeight ?? 0) / rowHeight) - 2)
  const open = (): void => {
    const row = rows[current()]
    if (row !== undefined) onOpen?.(row)
  }
  // Of several grids in a view, the keys act on the focused one, or else on the last.
  const isActive = (): boolean => {
    const focused = document.activeElement?.closest('.grid') ?? element.current
    return focused === element.current
  }
  const bindings: readonly KeyBinding[] = [
    { keys: 'j ArrowDown', title: 'Next row', run: () => moveTo(current() + 1) },
    { keys: 'k ArrowUp', title: 'Previous row', run: () => moveTo(current() - 1) },
    { keys: 'PageDown', title: 'Next page', run: () => moveTo(current() + pageRows()) },
    { keys: 'PageUp', title: 'Previous page', run: () => moveTo(current() - pageRows()) },
    { keys: 'g Home', title: 'First row', run: () => moveTo(0) },
    { keys: 'G End', title: 'Last row', run: () => moveTo(rows.length - 1) },
    ...(onOpen ? [{ keys: 'Enter', title: 'Open', run: open }] : []),
  ]
  useKeys(bindings.map(binding => ({ ...binding, isActive })))
}
