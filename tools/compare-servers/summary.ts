/** Counts of a comparison, and its tables. Pure. */
import { differenceClasses, type DifferenceClass } from './answers/difference-class.ts'
import type { Comparison } from './pair.ts'

interface Row {
  sent: number
  identical: number
  /** Answers that differ deliberately, and in nothing else. */
  deliberate: number
  readonly classes: Map<DifferenceClass, number>
}

export class Summary {
  readonly #total: Row = emptyRow()
  readonly #rows = new Map<string, Row>()

  add({ request, differences, known }: Comparison): void {
    let row = this.#rows.get(request.resource)
    if (row === undefined) this.#rows.set(request.resource, (row = emptyRow()))
    const classes = classesOf(differences)
    for (const each of [row, this.#total]) {
      each.sent += 1
      if (classes.length === 0 && known.length > 0) each.deliberate += 1
      else if (classes.length === 0) each.identical += 1
      for (const kind of classes) each.classes.set(kind, (each.classes.get(kind) ?? 0) + 1)
    }
  }

  get sent(): number {
    return this.#total.sent
  }

  /** Requests whose answers differ in more than free text and the objects of the cluster. */
  get differing(): number {
    const { sent, identical, deliberate, classes } = this.#total
    return sent - identical - deliberate - (classes.get('text') ?? 0) - (classes.get('objects') ?? 0)
  }

  /** The totals, and one line for each resource with differences. */
  format(): string {
    const heads = [
      'resource',
      'sent',
      'identical',
      'deliberate',
      'text only',
      ...differenceClasses.filter(isCounted),
    ]
    const rows = [...this.#rows]
      .filter(([, row]) => row.identical < row.sent)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const lines = [['all', this.#total] as const, ...rows].map(([name, row]) => [
      name,
      row.sent,
      row.identical,
      row.deliberate,
      row.classes.get('text') ?? 0,
      ...differenceClasses.filter(isCounted).map(kind => row.classes.get(kind) ?? 0),
    ])
    return [heads, heads.map(() => '---'), ...lines].map(line => `| ${line.join(' | ')} |\n`).join('')
  }
}

function isCounted(kind: DifferenceClass): boolean {
  return kind !== 'text'
}

function emptyRow(): Row {
  return { sent: 0, identical: 0, deliberate: 0, classes: new Map() }
}

/** Text and objects count only where nothing else differs. */
export function classesOf(differences: Comparison['differences']): readonly DifferenceClass[] {
  const found = new Set(differences.map(({ class: kind }) => kind))
  const strong = differenceClasses.filter(kind => found.has(kind) && kind !== 'text' && kind !== 'objects')
  if (strong.length > 0) return strong
  if (found.has('text')) return ['text']
  return found.has('objects') ? ['objects'] : []
}
