/**
 * The layout of a record's data up to its last name: a `name`, a length-prefixed `string`, or a number of
 * bytes. The rest is bytes. Only names of these types may be compressed (RFC 3597, section 4).
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

/** The types of RFC 1035: every implementation can decompress names in their data. */
export function mayCompress(type: number): boolean {
  return type <= 15 && layouts.has(type)
}
