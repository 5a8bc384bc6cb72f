/** Plans the view of nodes and their pods from the tables that the API server prints. */
import type { TableColumn, TableRow } from '../data/table-format.ts'
import { toneOfCell, type Tone } from '../format/tone.ts'

export interface PodMark {
  readonly namespace: string
  readonly name: string
  readonly status: string
  readonly tone: Tone
  /** Empty before it is scheduled. */
  readonly node: string
}

export interface NodeCard {
  /** Empty for pods that are not scheduled. */
  readonly name: string
  readonly status: string
  readonly tone: Tone
  readonly pods: readonly PodMark[]
}

export interface NodeTables {
  readonly nodes: Iterable<TableRow>
  readonly nodeColumns: readonly TableColumn[]
  readonly pods: Iterable<TableRow>
  readonly podColumns: readonly TableColumn[]
}

/** Pods that are not scheduled come first, then the nodes by name. Marks of unchanged rows are the same objects. */
export function planNodes({ nodes, nodeColumns, pods, podColumns }: NodeTables): readonly NodeCard[] {
  const podsOf = new Map<string, PodMark[]>()
  const read = podReader(podColumns)
  for (const row of pods) {
    const mark = read(row)
    const known = podsOf.get(mark.node)
    if (known) known.push(mark)
    else podsOf.set(mark.node, [mark])
  }
  const statusAt = columnOf(nodeColumns, 'Status')
  const cards = [...nodes].map(({ cells, object }): NodeCard => {
    const name = object.metadata.name ?? ''
    const status = String(cells[statusAt] ?? 'Unknown')
    return { name, status, tone: toneOfCell('Status', status) ?? 'warn', pods: podsOf.get(name) ?? [] }
  })
  cards.sort((left, right) => compareNames(left.name, right.name))
  const known = new Set(cards.map(({ name }) => name))
  const unplaced = [...podsOf].flatMap(([node, marks]) => (known.has(node) ? [] : marks))
  if (unplaced.length === 0) return cards
  return [{ name: '', status: 'Not scheduled', tone: 'warn', pods: unplaced }, ...cards]
}

/** By the row, which is another object after each change. */
const marks = new WeakMap<TableRow, PodMark>()

function podReader(columns: readonly TableColumn[]): (row: TableRow) => PodMark {
  const [statusAt, readyAt, nodeAt] = ['Status', 'Ready', 'Node'].map(name => columnOf(columns, name))
  return row => {
    const known = marks.get(row)
    if (known) return known
    const { namespace = '', name = '' } = row.object.metadata
    const status = String(row.cells[statusAt ?? -1] ?? 'Unknown')
    const ready = String(row.cells[readyAt ?? -1] ?? '')
    const node = String(row.cells[nodeAt ?? -1] ?? '')
    const byStatus = toneOfCell('Status', status) ?? 'busy'
    const isWaiting = status === 'Running' && toneOfCell('Ready', ready) === 'warn'
    const mark: PodMark = {
      namespace,
      name,
      status: isWaiting ? `Running, ${ready} ready` : status,
      tone: isWaiting ? 'warn' : status === 'Completed' ? 'idle' : byStatus,
      node: node === '<none>' ? '' : node,
    }
    marks.set(row, mark)
    return mark
  }
}

function columnOf(columns: readonly TableColumn[], name: string): number {
  return columns.findIndex(column => column.name === name)
}

const collator = new Intl.Collator('en', { numeric: true })

/** `node-2` comes before `node-10`. */
function compareNames(left: string, right: string): number {
  return collator.compare(left, right)
}

/** True if the card looks the same. */
export function isSameCard(left: NodeCard, right: NodeCard): boolean {
  return (
    left.name === right.name &&
    left.status === right.status &&
    left.pods.length === right.pods.length &&
    left.pods.every((pod, index) => pod === right.pods[index])
  )
}

/** `12 pods: 11 Running, 1 Pending`; the most frequent states first. */
export function describePods(pods: readonly PodMark[]): string {
  if (pods.length === 0) return 'no pods'
  const counts = [...Map.groupBy(pods, ({ status }) => status)].map(([status, { length }]) => ({
    status,
    length,
  }))
  const texts = counts
    .toSorted((left, right) => right.length - left.length)
    .slice(0, statesMax)
    .map(({ status, length }) => `${length.toLocaleString('en')} ${status}`)
  const more = counts.length > statesMax ? ', ...' : ''
  return `${pods.length.toLocaleString('en')} ${pods.length === 1 ? 'pod' : 'pods'}: ${texts.join(', ')}${more}`
}

const statesMax = 4
