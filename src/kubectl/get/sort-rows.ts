import type { JsonObject } from '#/api/text/json-object.ts'
import { relaxedJsonPath } from '../printers/json-path-template.ts'
import { sortBy } from '../printers/sort-by.ts'
import type { TableRow } from '../printers/table-printer.ts'

/** Sorts the rows of a table by a field of their objects. */
export function sortRows(rows: readonly TableRow[], path: string): readonly TableRow[] {
  return sortBy(rows, {
    path: relaxedJsonPath(path),
    objectOf: ({ object }) => object ?? null,
    holder: '[][][]reflect.Value',
  })
}

export function sortObjects(objects: readonly JsonObject[], path: string): readonly JsonObject[] {
  return sortBy(objects, {
    path: relaxedJsonPath(path),
    objectOf: object => object,
    holder: '*unstructured.Unstructured',
  })
}
