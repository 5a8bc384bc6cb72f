import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TableRow } from '../data/table-format.ts'
import { filterAndSort, nextSortOrder, parseSortOrder } from './sort-rows.ts'

const columns = ['Name', 'Ready', 'Restarts', 'Age', 'Duration'].map(name => ({
  name,
  type: 'string',
  priority: 0,
}))

/** `namespace name ready restarts minutesOld duration`. */
const rows = [
  'shop web-2 1/2 10 5 90s',
  'default db 2/2 2 1 5m',
  'shop web-10 0/2 0 9 <none>',
  'default Api 10/10 3 30 2h3m',
].map((line): TableRow => {
  const [namespace = '', name = '', ready = '', restarts = '', age = '', duration = ''] = line.split(' ')
  const creationTimestamp = `2026-01-01T00:${String(59 - Number(age)).padStart(2, '0')}:00Z`
  const labels = { tier: name.startsWith('web') ? 'front' : 'back' }
  return {
    cells: [name, ready, restarts, `${age}m`, duration],
    object: { metadata: { namespace, name, creationTimestamp, labels } },
  }
})

function check({ filter = '', sort = '' }, expected: string): void {
  const shown = filterAndSort(rows, columns, { filter, order: parseSortOrder(sort) })
  assert.equal(shown.map(row => row.object.metadata.name).join(' '), expected, `${filter} ${sort}`)
}

test('filterAndSort orders by namespace and name unless a column is given', () => {
  check({}, 'Api db web-10 web-2')
  check({ sort: 'Namespace' }, 'Api db web-10 web-2')
  check({ sort: '-Namespace' }, 'web-10 web-2 Api db')
  check({ sort: 'Name' }, 'Api db web-10 web-2')
})

test('filterAndSort compares numbers, fractions, ages and durations by value', () => {
  check({ sort: 'Restarts' }, 'web-10 db Api web-2')
  check({ sort: '-Restarts' }, 'web-2 Api db web-10')
  check({ sort: 'Ready' }, 'web-10 web-2 db Api')
  check({ sort: 'Age' }, 'db web-2 web-10 Api')
  check({ sort: 'Duration' }, 'web-2 db Api web-10')
})

test('filterAndSort keeps rows that contain all words in cells, namespace or labels', () => {
  check({ filter: 'web' }, 'web-10 web-2')
  check({ filter: 'SHOP 1/2' }, 'web-2')
  check({ filter: 'tier=back' }, 'Api db')
  check({ filter: '!web db' }, 'db')
  check({ filter: 'none-such' }, '')
})

test('nextSortOrder goes through ascending, descending and none', () => {
  assert.equal(nextSortOrder('Age', undefined), 'Age')
  assert.equal(nextSortOrder('Age', parseSortOrder('Age')), '-Age')
  assert.equal(nextSortOrder('Age', parseSortOrder('-Age')), '')
})
