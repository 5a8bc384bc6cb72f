import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  contains,
  difference,
  recursiveDifference,
  emptySet,
  equals,
  fieldSet,
  intersection,
  isEmpty,
  leaves,
  paths,
  size,
  union,
  type FieldSet,
} from './field-set.ts'
import type { Path } from './path-element.ts'

/** Paths in short notation: `a a.b c`. */
function set(text: string): FieldSet {
  const list = text.split(' ').filter(path => path !== '')
  return fieldSet(list.map(path => path.split('.').map(name => `f:${name}`)))
}

function show(fields: FieldSet): string {
  return [...paths(fields)].map(path => path.map(element => element.slice(2)).join('.')).join(' ')
}

test('a field set contains exactly its paths', () => {
  const fields = set('a.b a c.d.e')
  assert.equal(show(fields), 'a a.b c.d.e')
  assert.equal(size(fields), 3)
  assert.ok(contains(fields, ['f:a', 'f:b']))
  assert.ok(!contains(fields, ['f:c', 'f:d']))
  assert.ok(!contains(fields, ['f:a', 'f:b', 'f:c']))
  assert.ok(!contains(fields, []))
  assert.ok(isEmpty(fieldSet([[]])))
})

test('set operations work per path, recursiveDifference includes children', () => {
  assert.equal(show(union(set('a.b c'), set('a d.e'))), 'a c a.b d.e')
  assert.equal(show(intersection(set('a a.b c.d'), set('a.b c.d.e c'))), 'a.b')
  assert.equal(show(difference(set('a a.b c.d'), set('a c'))), 'a.b c.d')
  assert.equal(show(recursiveDifference(set('a a.b c.d e'), set('a c'))), 'e')
  assert.equal(show(recursiveDifference(set('a a.b'), set('a.b.c'))), 'a a.b')
  assert.equal(show(leaves(set('a a.b a.b.c d'))), 'd a.b.c')
})

const path = fc.array(fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:1'), { minLength: 1, maxLength: 4 })
const pathList = fc.array(path, { maxLength: 8 })
const anySet = pathList.map(fieldSet)

/** The set as a flat set of serialized paths. */
function flat(fields: FieldSet): Set<string> {
  return new Set([...paths(fields)].map(each => JSON.stringify(each)))
}

function checkNodes(fields: FieldSet): void {
  for (const node of fields.nodes.values()) {
    assert.ok(node.member || !isEmpty(node.children), 'no node without a path')
    checkNodes(node.children)
  }
}

test('field set operations agree with plain sets of paths', () => {
  fc.assert(
    fc.property(anySet, anySet, (a, b) => {
      const [left, right] = [flat(a), flat(b)]
      assert.deepEqual(flat(union(a, b)), left.union(right))
      assert.deepEqual(flat(intersection(a, b)), left.intersection(right))
      assert.deepEqual(flat(difference(a, b)), left.difference(right))
      const isBelow = (each: string): boolean => {
        const whole = JSON.parse(each) as Path
        return whole.some((_, index) => right.has(JSON.stringify(whole.slice(0, index + 1))))
      }
      assert.deepEqual(flat(recursiveDifference(a, b)), new Set([...left].filter(each => !isBelow(each))))
      for (const operation of [union, intersection, difference, recursiveDifference])
        checkNodes(operation(a, b))
      checkNodes(leaves(a))
    }),
  )
})

test('field sets satisfy the laws of set algebra', () => {
  fc.assert(
    fc.property(anySet, anySet, anySet, (a, b, c) => {
      assert.ok(equals(union(a, b), union(b, a)))
      assert.ok(equals(union(union(a, b), c), union(a, union(b, c))))
      assert.ok(equals(intersection(a, b), intersection(b, a)))
      assert.ok(equals(intersection(a, union(b, c)), union(intersection(a, b), intersection(a, c))))
      assert.ok(equals(difference(a, b), difference(a, intersection(a, b))))
      assert.ok(equals(union(difference(a, b), intersection(a, b)), a))
      assert.ok(isEmpty(difference(a, a)) && isEmpty(intersection(a, emptySet)))
      assert.equal(equals(a, b), isEmpty(difference(a, b)) && isEmpty(difference(b, a)))
    }),
  )
})

test('field set operations return the same set if unchanged', () => {
  fc.assert(
    fc.property(anySet, anySet, (a, b) => {
      assert.equal(union(a, intersection(a, b)), a)
      assert.equal(intersection(a, union(a, b)), a)
      assert.equal(difference(a, difference(b, a)), a)
      const bare = leaves(a)
      assert.equal(leaves(bare), bare)
    }),
  )
})

test('field sets are independent of insertion order', () => {
  fc.assert(
    fc.property(pathList, list => {
      assert.ok(equals(fieldSet(list), fieldSet(list.toReversed())))
      for (const each of list) assert.ok(contains(fieldSet(list), each))
      assert.equal(size(fieldSet(list)), new Set(list.map(each => JSON.stringify(each))).size)
    }),
  )
})
