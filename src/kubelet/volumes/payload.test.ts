import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aggregateMessage,
  cleanPayload,
  equalPayloads,
  payloadOfKeys,
  topNames,
  type PayloadFile,
} from './payload.ts'

const data = new Map([
  ['a', { content: '1', encoding: 'utf8' as const }],
  ['b', { content: 'Mg==', encoding: 'base64' as const }],
])

type Items = readonly { key: string; path: string; mode?: number }[]

const cases: readonly (readonly [items: Items, isOptional: boolean, expected: string])[] = [
  [[], false, 'a=1:644 b=Mg==:644'],
  [[{ key: 'a', path: 'x/y' }], false, 'x/y=1:644'],
  [[{ key: 'b', path: 'x', mode: 0o400 }], false, 'x=Mg==:400'],
  [[{ key: 'c', path: 'x' }], false, 'no such key: c'],
  [
    [
      { key: 'c', path: 'x' },
      { key: 'a', path: 'y' },
    ],
    true,
    'y=1:644',
  ],
]

test('volume files are all keys, or the listed items', () => {
  for (const [items, isOptional, expected] of cases) {
    let found: string
    try {
      const payload = payloadOfKeys({ items, data, defaultMode: 0o644, isOptional, missing: 'no such key' })
      found = [...payload]
        .map(([path, { content, mode }]) => `${path}=${content}:${mode.toString(8)}`)
        .join(' ')
    } catch (error) {
      found = (error as Error).message
    }
    assert.equal(found, expected)
  }
})

const file: PayloadFile = { content: 'x', encoding: 'utf8', mode: 0o644 }

const paths: readonly (readonly [path: string, expected: string])[] = [
  ['a', 'a'],
  ['a/b', 'a/b'],
  ['./a//b/', 'a/b'],
  ['a..b', 'a..b'],
  ['', 'invalid path: must not be empty: ""'],
  ['/a', 'invalid path: must be relative path: /a'],
  ['a/../b', "invalid path: must not contain '..': a/../b"],
  ['..', "invalid path: must not contain '..': .."],
  ['..data', "invalid path: must not start with '..': ..data"],
  ['x'.repeat(256), 'invalid path: filenames must be less than or equal to 255 characters'],
  ['x/'.repeat(3_000), 'invalid path: must be less than or equal to 4096 characters'],
]

test('item paths must stay in the volume and avoid reserved names', () => {
  for (const [path, expected] of paths) {
    let found: string
    try {
      found = [...cleanPayload(new Map([[path, file]])).keys()].join()
    } catch (error) {
      found = (error as Error).message
    }
    assert.equal(found, expected, path.slice(0, 20))
  }
})

test('payloads are equal when all files, modes and owners are', () => {
  const one = new Map([['a', file]])
  const others: readonly (readonly [ReadonlyMap<string, PayloadFile>, boolean])[] = [
    [new Map([['a', { ...file }]]), true],
    [new Map([['b', file]]), false],
    [new Map(), false],
    [new Map([...one, ['b', file]]), false],
    [new Map([['a', { ...file, content: 'y' }]]), false],
    [new Map([['a', { ...file, mode: 0o600 }]]), false],
    [new Map([['a', { ...file, uid: 1 }]]), false],
    [new Map([['a', { ...file, encoding: 'base64' as const }]]), false],
  ]
  for (const [other, expected] of others) assert.equal(equalPayloads(one, other), expected)
})

test('top-level entries are the first segments of all paths', () => {
  const payload = new Map(['a', 'b/c', 'b/d/e'].map(path => [path, file]))
  assert.deepEqual([...topNames(payload)], ['a', 'b'])
})

test('errors are aggregated without duplicates', () => {
  assert.equal(aggregateMessage(['a']), 'a')
  assert.equal(aggregateMessage(['a', 'a']), 'a')
  assert.equal(aggregateMessage(['a', 'b', 'a']), '[a, b]')
})
