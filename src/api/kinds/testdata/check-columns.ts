/** Test notation for tables: an object in its shortest form, and its cells. */
import assert from 'node:assert/strict'
import { deepFreeze } from '../../text/json-value.ts'
import { objectOf, type KubernetesObject } from '../../metadata.ts'
import type { JsonObject } from '../../text/json-object.ts'
import type { KindColumns, RowCondition } from '../../table-columns.ts'
import { formatTime } from '../../text/time.ts'
import { Age } from '../../age.ts'
import { kindColumnsOf } from '../columns.ts'

const nowMs = Date.UTC(2026, 4, 4, 12)

/** `ago(90)` is a minute and a half before the time at which the table is printed. */
export function ago(seconds: number): string {
  return formatTime(nowMs - seconds * 1000)
}

export interface ColumnsUnderTest {
  /** Checks all cells of the object, which is named `a` and five minutes old. */
  readonly row: (object: object, ...cells: readonly unknown[]) => void
  /** Checks some cells, by column. */
  readonly check: (object: object, cells: Readonly<Record<string, unknown>>) => void
  readonly conditions: (object: object) => readonly RowCondition[]
}

export function columnsUnderTest(group: string, kind: string): ColumnsUnderTest {
  const found = kindColumnsOf(group, kind)
  assert.ok(found)
  // The test passes objects of the right kind, as the store does.
  const { columns, cells, conditions } = found as unknown as KindColumns
  const names = columns.map(column => column.name)
  const cellsOf = (object: object): readonly unknown[] => {
    const given = cells(deepFreeze(withMetadata(object as KubernetesObject)))
    assert.equal(given.length, columns.length)
    return given.map(cell => (cell instanceof Age ? cell.textAt(nowMs) : cell))
  }
  return {
    row(object, ...expected) {
      assert.deepEqual(cellsOf(object), expected)
    },
    check(object, expected) {
      const given = cellsOf(object)
      const shown = Object.keys(expected).map(name => [name, given[names.indexOf(name)]])
      assert.deepEqual(Object.fromEntries(shown), expected)
    },
    conditions: object => conditions?.(objectOf(object as JsonObject)) ?? [],
  }
}

function withMetadata(object: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { name: 'a', creationTimestamp: ago(300), ...object.metadata } }
}
