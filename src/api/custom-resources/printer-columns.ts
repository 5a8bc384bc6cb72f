/** Table columns of a custom resource, from `additionalPrinterColumns`. */
import { nameColumn, nameOf, translateTimestampSince } from '../columns.ts'
import type { CustomResourceColumnDefinition } from '../generated/apiextensions/v1.ts'
import { jsonOf } from '../metadata.ts'
import type { Cell, Column, KindColumns } from '../table-columns.ts'
import { compileJsonPath, JsonPathError, type JsonPathQuery } from '../text/json-path-query.ts'
import type { JsonValue } from '../text/json-value.ts'

/** Without additional columns, the table has Name and Age. */
export function printerColumnsOf(given: readonly CustomResourceColumnDefinition[] = []): KindColumns {
  const definitions = given.length === 0 ? [ageColumn] : given
  const queries = definitions.map(({ jsonPath }) => queryOf(jsonPath))
  return {
    columns: [nameColumn, ...definitions.map(columnOf)],
    cells: object => [
      nameOf(object),
      ...definitions.map(({ type }, index) => {
        const [value] = queries[index]?.(jsonOf(object)) ?? []
        return value === undefined ? null : cellOf(value, type)
      }),
    ],
  }
}

/** Unlike that of built-in kinds, the column has the type of the field. */
const ageColumn = {
  name: 'Age',
  type: 'date',
  description: 'Time since the object was created.',
  jsonPath: '.metadata.creationTimestamp',
}

/** A path that is not supported gives an empty column. */
function queryOf(path: string): JsonPathQuery {
  try {
    return compileJsonPath(path)
  } catch (error) {
    if (error instanceof JsonPathError) return () => []
    throw error
  }
}

function columnOf(definition: CustomResourceColumnDefinition): Column {
  const { name, type, format = '', description, priority = 0, jsonPath } = definition
  return {
    name,
    // Ages are computed by the server, so that the client shows a text.
    type: type as Column['type'],
    format: format as Column['format'],
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
  }
}

/** Null if the value does not have the type of the column. */
function cellOf(value: JsonValue, type: string): Cell {
  switch (type) {
    case 'integer':
      return typeof value === 'number' || typeof value === 'bigint' ? truncated(value) : null
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? dateCell(value) : null
    default:
      return typeof value === 'string' ? value : textOf(value)
  }
}

function truncated(value: number | bigint): number | bigint {
  return typeof value === 'number' ? Math.trunc(value) : value
}

function dateCell(value: string): Cell {
  const age = translateTimestampSince(value)
  return age === '<unknown>' ? '<invalid>' : age
}

/** Lists and objects are shown as JSON. */
function textOf(value: JsonValue): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? JSON.rawJSON(String(each)) : each,
  )
}
