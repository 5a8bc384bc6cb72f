import type { Difference } from '../../compare-api/compare-values.ts'

export interface AlignedLists {
  /** With the items that both servers have, in the order of each. */
  readonly left: unknown
  readonly right: unknown
  /** Items that only one server has. */
  readonly missing: readonly Difference[]
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Removes the items of two lists, or rows of two Tables, that only one of them has: whether two clusters have
 * the same objects is another question than whether two servers show an object in the same way.
 */
export function alignLists(ours: unknown, theirs: unknown): AlignedLists {
  const [key, left, right] = [listKey(ours), ours as Fields, theirs as Fields]
  if (key === undefined || listKey(theirs) !== key) return { left: ours, right: theirs, missing: [] }
  const [mine, others] = [left[key] as readonly unknown[], right[key] as readonly unknown[]]
  const [myNames, otherNames] = [new Set(mine.map(nameOf)), new Set(others.map(nameOf))]
  const additional = mine.map(nameOf).filter(name => !otherNames.has(name))
  const lacking = others.map(nameOf).filter(name => !myNames.has(name))
  return {
    left: { ...left, [key]: mine.filter(item => otherNames.has(nameOf(item))) },
    right: { ...right, [key]: others.filter(item => myNames.has(nameOf(item))) },
    missing: [
      ...additional.map(name => ({ place: `/${key}/${name}`, ours: name, theirs: undefined })),
      ...lacking.map(name => ({ place: `/${key}/${name}`, ours: undefined, theirs: name })),
    ],
  }
}

function listKey(body: unknown): 'items' | 'rows' | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { kind, items, rows } = body as Fields
  if (typeof kind !== 'string') return undefined
  if (kind === 'Table' && Array.isArray(rows)) return 'rows'
  return kind.endsWith('List') && Array.isArray(items) ? 'items' : undefined
}

interface Named {
  readonly metadata?: { readonly namespace?: string; readonly name?: string }
  readonly object?: Named
  readonly cells?: readonly unknown[]
}

function nameOf(item: unknown): string {
  const { metadata, object, cells } = item as Named
  const { namespace = '', name } = metadata ?? object?.metadata ?? {}
  return `${namespace}/${name ?? String(cells?.[0])}`
}
