import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ContentHasher } from './content.ts'

function hashOf(...pairs: readonly (readonly [string, string])[]): string {
  const hasher = new ContentHasher()
  for (const [key, value] of pairs) hasher.add({ key, value: Buffer.from(value) })
  return hasher.finish().hash
}

test('the hash of a store depends on its keys and values and not on their order', () => {
  const expected = hashOf(['/a', '1'], ['/b', '2'])
  assert.equal(hashOf(['/b', '2'], ['/a', '1']), expected)
  assert.match(expected, /^[0-9a-f]{64}$/u)
  const others = [
    hashOf(),
    hashOf(['/a', '1']),
    hashOf(['/a', '2'], ['/b', '1']),
    hashOf(['/a', '1'], ['/b', '22']),
    hashOf(['/a1', ''], ['/b', '2']),
    hashOf(['/a', '1'], ['/b', '2'], ['/c', '']),
  ]
  assert.equal(new Set([expected, ...others]).size, others.length + 1)
})
