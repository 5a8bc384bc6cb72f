import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteRecord } from '#/api/write-record.ts'
import { RecentChains } from './recent-chains.ts'

function write(revision: number, causes: readonly number[], resource = 'pods'): WriteRecord {
  const pass = { component: 'controller', key: 'a/b', causes, queuedMs: 0, startedMs: 0, steps: [] }
  const origin = { user: 'admin', userAgent: '', verb: 'create', receivedMs: revision, steps: [] }
  return {
    revision,
    timeMs: revision,
    type: 'ADDED',
    object: { apiVersion: 'v1', kind: 'Pod', resource, namespace: 'a', name: 'b', uid: '' },
    origin: causes.length === 0 ? origin : { ...origin, pass },
  }
}

function check(writes: readonly WriteRecord[], expected: string): void {
  const chains = new RecentChains(({ origin }) => origin?.pass === undefined)
  for (const each of writes) chains.add(each)
  const texts = chains
    .latestFirst()
    .map(({ root, writes: count, endedMs }) => `${root.revision}:${count}@${endedMs}`)
  assert.equal(texts.join(' '), expected)
}

test('RecentChains counts what each request caused, the latest first', () => {
  check([], '')
  check([write(1, []), write(2, [1]), write(3, [2]), write(4, [])], '4:1@4 1:3@3')
  check([write(1, []), write(2, [99])], '1:1@1')
})

test('RecentChains follows events, but does not count them', () => {
  check([write(1, []), write(2, [1], 'events'), write(3, [2])], '1:2@3')
})

test('RecentChains is bounded', () => {
  const writes = Array.from({ length: 300 }, (_, index) => write(index + 1, []))
  const chains = new RecentChains(() => true)
  for (const each of writes) chains.add(each)
  const found = chains.latestFirst()
  assert.equal(found.length, 100)
  assert.equal(found[0]?.root.revision, 300)
})
