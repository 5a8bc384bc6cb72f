import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecodedObjects } from './decoded-objects.ts'
import { StoredObject } from './stored-object.ts'

const value = Buffer.from('{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}')

/** Objects by name, of which `count` fit. */
function objectsOf(count: number) {
  const decodedObjects = new DecodedObjects(count * value.length)
  const make = (key: string): StoredObject =>
    new StoredObject({ key, revision: 1, value }, undefined, decodedObjects)
  return { decodedObjects, make }
}

const isDecoded = (stored: StoredObject): boolean => stored.isDecoded

test('beyond the bound the objects that were not used since are released', () => {
  const { make } = objectsOf(2)
  const [a, b, c, d] = [make('a'), make('b'), make('c'), make('d')]
  for (const stored of [a, b]) assert.equal(stored.object.metadata.name, 'a')
  assert.deepEqual([a, b].map(isDecoded), [true, true])
  // All were used, so the first one is released after a round.
  assert.equal(c.object.metadata.name, 'a')
  assert.deepEqual([a, b, c].map(isDecoded), [false, true, true])
  assert.equal(b.object.metadata.name, 'a')
  assert.equal(d.object.metadata.name, 'a')
  assert.equal([a, b, c, d].filter(isDecoded).length, 2)
  assert.equal(isDecoded(d), true)
})

test('a single object beyond the bound is kept while it is the last', () => {
  const { make } = objectsOf(0)
  const [a, b] = [make('a'), make('b')]
  assert.equal(a.object.metadata.name, 'a')
  assert.equal(isDecoded(a), true)
  assert.equal(b.object.metadata.name, 'a')
  assert.deepEqual([a, b].map(isDecoded), [false, true])
})

test('deleted objects do not count, and all can be released', () => {
  const { make, decodedObjects } = objectsOf(2)
  const [a, b, c] = [make('a'), make('b'), make('c')]
  for (const stored of [a, b]) assert.equal(stored.object.metadata.name, 'a')
  decodedObjects.delete(a)
  assert.equal(c.object.metadata.name, 'a')
  assert.deepEqual([b, c].map(isDecoded), [true, true])
  decodedObjects.releaseAll()
  assert.deepEqual([b, c].map(isDecoded), [false, false])
})

test('a released object that is still held is not decoded again', () => {
  const { make, decodedObjects } = objectsOf(2)
  const stored = make('a')
  const held = stored.object
  decodedObjects.releaseAll()
  assert.equal(stored.isDecoded, false)
  assert.equal(stored.object, held)
  assert.equal(stored.isDecoded, true)
})
