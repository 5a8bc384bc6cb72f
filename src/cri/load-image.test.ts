import assert from 'node:assert/strict'
import { test } from 'node:test'
import { updatedImages } from './load-image.ts'

test('loaded images are those with a new or changed name, not those known by id only', () => {
  const before = new Map([
    ['example.com/a:1', '1.0'],
    ['example.com/b:1', '1.0'],
  ])
  const after = new Map([
    ['example.com/a:1', '2.0'],
    ['example.com/b:1', '1.0'],
    ['example.com/c:1', '2.0'],
    ['sha256:0123', '2.0'],
  ])
  assert.deepEqual(updatedImages(before, after), ['example.com/a:1', 'example.com/c:1'])
})
