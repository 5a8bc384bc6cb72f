import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareSpecificity, covers, intersection, intersections, wildcardsOf } from './hostnames.ts'

test('a wildcard stands for one or more labels', () => {
  const cases: readonly (readonly [outer: string, inner: string, expected: boolean])[] = [
    ['*', 'a.com', true],
    ['*', '*', true],
    ['a.com', '*', false],
    ['a.com', 'a.com', true],
    ['*.com', 'a.com', true],
    ['*.com', 'b.a.com', true],
    ['*.com', '*.a.com', true],
    ['*.a.com', '*.com', false],
    ['*.a.com', 'a.com', false],
    ['*.a.com', 'ba.com', false],
    ['*.com', '*', false],
  ]
  for (const [outer, inner, expected] of cases)
    assert.equal(covers(outer, inner), expected, `${outer} ${inner}`)
})

test('the intersection is the more specific hostname', () => {
  assert.equal(intersection('*', 'a.com'), 'a.com')
  assert.equal(intersection('x.a.com', '*.com'), 'x.a.com')
  assert.equal(intersection('*.a.com', '*.com'), '*.a.com')
  assert.equal(intersection('a.com', 'b.com'), undefined)
  assert.deepEqual(intersections('*.com', ['A.com', '*.a.com', '*', 'a.com', 'a.org']), [
    'a.com',
    '*.a.com',
    '*.com',
  ])
  assert.deepEqual(intersections('*', []), ['*'])
})

test('wildcards are the less specific hostnames in order', () => {
  assert.deepEqual(wildcardsOf('x.a.com'), ['*.a.com', '*.com', '*'])
  assert.deepEqual(wildcardsOf('*.a.com'), ['*.com', '*'])
  assert.deepEqual(wildcardsOf('*'), [])
  const names = ['*', '*.com', '*.a.com', 'x.com', 'x.a.com']
  for (const name of names) {
    assert.deepEqual(
      names.filter(each => each !== name && covers(each, name)).sort(compareSpecificity),
      wildcardsOf(name).filter(each => names.includes(each)),
      name,
    )
  }
})
