import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileJsonPath, JsonPathError } from './json-path-query.ts'

const object = {
  spec: { 'replicas': 3, 'list': [1, 2, 3, 4], 'a.b': 'dotted' },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', weight: 5 },
      { type: 'Synced', status: 'False', weight: 1 },
    ],
  },
  __proto__x: 1,
}

function check(path: string, ...expected: readonly unknown[]): void {
  assert.deepEqual(compileJsonPath(path)(object), expected, path)
}

test('JSONPath selects members, items and slices', () => {
  check('.spec.replicas', 3)
  check('$.spec.replicas', 3)
  check('.spec.missing')
  check('.spec.replicas.deeper')
  check(".spec['replicas']", 3)
  check('.spec.a\\.b', 'dotted')
  check('.spec["a.b"]', 'dotted')
  check('.spec.list[0]', 1)
  check('.spec.list[-1]', 4)
  check('.spec.list[9]')
  check('.spec.list[-9]')
  check('.spec.list[1:3]', 2, 3)
  check('.spec.list[::2]', 1, 3)
  check('.spec.list[0,2]', 1, 3)
  check('.spec.list[*]', 1, 2, 3, 4)
  check('.status.conditions[*].type', 'Ready', 'Synced')
  check('..type', 'Ready', 'Synced')
  check('.constructor')
  check('.', object)
})

test('JSONPath filters lists', () => {
  check('.status.conditions[?(@.type=="Ready")].status', 'True')
  check(".status.conditions[?(@.type == 'Synced')].status", 'False')
  check('.status.conditions[?(@.weight>=5)].type', 'Ready')
  check('.status.conditions[?(@.type!="Ready")].type', 'Synced')
  check('.status.conditions[?(@.absent)].type')
  check('.status.conditions[?(@.status)].type', 'Ready', 'Synced')
  check('.status.conditions[?(@.weight=="5")].type')
})

test('invalid JSONPath expressions are rejected, and no text breaks the parser', () => {
  for (const path of ['.a[', '.a[?(@.b', '.a b', 'a', '.a[x]', '.a]']) {
    assert.throws(() => compileJsonPath(path), JsonPathError, path)
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('.[]()?@$*:,\'"\\ab=<>!-0 ')) }), path => {
      try {
        compileJsonPath(path)(object)
      } catch (error) {
        assert.ok(error instanceof JsonPathError)
      }
    }),
  )
})
