import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forEachPrefix, prefixEnd } from './key-path.ts'

test('prefixEnd is after every key below the prefix and before all later keys', () => {
  const end = prefixEnd('/a/b/')
  for (const key of ['/a/b/', '/a/b/c', '/a/b/~', '/a/b/c/d']) assert.ok(key < end, key)
  for (const key of ['/a/b0', '/a/bc', '/a/c/']) assert.ok(key >= end, key)
})

test('a key is below each of its folders', () => {
  const check = (key: string, prefixes: readonly string[]): void => {
    const seen: string[] = []
    forEachPrefix(key, prefix => seen.push(prefix))
    assert.deepEqual(seen, prefixes)
  }
  check('/registry/pods/a', ['/', '/registry/', '/registry/pods/'])
  check('/registry/', ['/', '/registry/'])
  check('plain', [])
})
