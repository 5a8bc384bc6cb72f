import { keyOf, type Stored } from '#/api/metadata.ts'

/** Older objects first, then by namespace and name: the order in which the Gateway API resolves conflicts. */
export function compareAge(a: Stored, b: Stored): number {
  return (
    compareText(a.metadata.creationTimestamp, b.metadata.creationTimestamp) || compareText(keyOf(a), keyOf(b))
  )
}

function compareText(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
