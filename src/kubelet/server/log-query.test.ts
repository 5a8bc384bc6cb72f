import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLogQuery } from './log-query.ts'

test('log options are parsed from the query, invalid ones are rejected', () => {
  const nowMs = Date.parse('2024-01-01T00:01:00Z')
  const check = (query: string, expected: object | undefined): void => {
    assert.deepEqual(readLogQuery(new URLSearchParams(query), nowMs), expected, query)
  }
  const plain = { selection: { timestamps: false }, tailLines: undefined, follow: false, previous: false }
  const since = BigInt(Date.parse('2024-01-01T00:00:30Z')) * 1_000_000n
  check('', plain)
  check('follow=true&previous=1&timestamps', {
    selection: { timestamps: true },
    tailLines: undefined,
    follow: true,
    previous: true,
  })
  check('follow=false&previous=0', plain)
  check('tailLines=0', { ...plain, tailLines: 0 })
  check('tail=all', plain)
  check('sinceSeconds=30', { ...plain, selection: { timestamps: false, since } })
  check('sinceTime=2024-01-01T00:00:30Z', { ...plain, selection: { timestamps: false, since } })
  check('stream=Stderr&limitBytes=5', {
    ...plain,
    selection: { timestamps: false, stream: 'stderr', limitBytes: 5 },
  })
  for (const query of [
    'tailLines=-1',
    'tailLines=x',
    'limitBytes=0',
    'sinceSeconds=0',
    'sinceTime=yesterday',
    'sinceSeconds=1&sinceTime=2024-01-01T00:00:30Z',
    'stream=Both',
    'stream=Stdout&tailLines=1',
  ])
    check(query, undefined)
})
