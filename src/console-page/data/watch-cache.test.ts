import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectFormat } from './object-format.ts'
import { WatchCache, type WatchMessage } from './watch-cache.ts'

/** `+a:2` is added at version 2, `~` modified, `-` deleted, `=:9` a bookmark, `!410` an error. */
function message(text: string): WatchMessage {
  const [head = '', resourceVersion = ''] = text.split(':')
  const name = head.slice(1)
  if (text.startsWith('!')) return { type: 'ERROR', object: { code: Number(name), message: 'gone' } }
  const types = { '+': 'ADDED', '~': 'MODIFIED', '-': 'DELETED', '=': 'BOOKMARK' } as const
  const type = types[text.charAt(0) as keyof typeof types]
  return { type, object: { metadata: { name, namespace: 'default', resourceVersion } } }
}

function check(events: string, expected: string, status?: number): void {
  const cache = new WatchCache(objectFormat)
  cache.replace([{ metadata: { name: 'a', namespace: 'default', resourceVersion: '1' } }], '1')
  const error = cache.apply(events.split(' ').filter(Boolean).map(message))
  const items = [...cache.items].map(([key, { metadata }]) => `${key}:${metadata.resourceVersion}`)
  assert.equal([...items, `@${cache.resourceVersion}`].join(' '), expected)
  assert.equal(error?.status, status)
}

test('WatchCache applies events in order and remembers the version to continue from', () => {
  check('', 'default/a:1 @1')
  check('+b:2 ~a:3', 'default/a:3 default/b:2 @3')
  check('-a:4', '@4')
  check('-a:4 +a:5', 'default/a:5 @5')
  check('=:9', 'default/a:1 @9')
})

test('WatchCache returns the error of the watch and ignores what follows it', () => {
  check('+b:2 !410 +c:3', 'default/a:1 default/b:2 @2', 410)
})
