/**
 * Where names are in the data of a record: `name`, a string with its length before it, or so many bytes. What follows
 * is bytes to the end. Only these types may have names that refer to other places of their message (RFC 3597, section
 * 4).
 */
export type RecordField = 'name' | 'string' | number

const layouts: ReadonlyMap<number, readonly RecordField[]> = new Map<number, readonly RecordField[]>([
  [2, ['name']],
  [3, ['name']],
  [4, ['name']],
  [5, ['name']],
  [6, ['name', 'name']],
  [7, ['name']],
  [8, ['name']],
  [9, ['name']],
  [12, ['name']],
  [14, ['name', 'name']],
  [15, [2, 'name']],
  [17, ['name', 'name']],
  [18, [2, 'name']],
  [21, [2, 'name']],
  [24, [18, 'name']],
  [26, [2, 'name', 'name']],
  [30, ['name']],
  [33, [6, 'name']],
  [35, [4, 'string', 'string', 'string', 'name']],
  [36, [2, 'name']],
  [39, ['name']],
])

export function layoutOf(type: number): readonly RecordField[] {
  return layouts.get(type) ?? []
}

/** Types that are as old as compression itself: everybody can read names of these that refer to other places. */
export function mayCompress(type: number): boolean {
  return type <= 15 && layouts.has(type)
}
