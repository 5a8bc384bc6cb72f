import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Version } from './local/version.ts'
import { neededVersions } from './check.ts'
import { assessLoss } from './repair.ts'

/** In `2a 3b 4-a`, key a is written at revision 2, b at 3, and a is deleted at 4. */
function versionsOf(text: string): Version[] {
  return [...text.matchAll(/(\d+)(-?)([a-z])/gu)].map(([, revision, deletion, key = '']) => ({
    key: `/${key}`,
    revision: Number(revision),
    createRevision: 0,
    isDeletion: deletion === '-',
    value: undefined,
    expiresMs: 0,
    note: undefined,
    older: undefined,
    location: 0,
    sizeBytes: 1,
  }))
}

function showVersions(versions: Iterable<Version>): string {
  return [...versions]
    .map(({ revision, isDeletion, key }) => `${revision}${isDeletion ? '-' : ''}${key[1]}`)
    .join(' ')
}

test('the loss of a repair is the gaps in the revisions and the keys of damaged records', () => {
  const check = (
    found: string,
    { compacted = 0, mark = 0, damaged = '' }: { compacted?: number; mark?: number; damaged?: string },
    expected: string,
  ): void => {
    const versions = versionsOf(found)
    const markOf = { slot: 0, storeId: 'x', segment: 1, positionBytes: 0, chain: Buffer.of(), revision: mark }
    const loss = assessLoss({ versions, compacted, mark: markOf, damagedRecords: versionsOf(damaged) })
    const gaps = loss.revisions.map(({ first, last }) => `${first}-${last}`)
    const keys = loss.keys.map(
      ({ key, revision, newestIntact }) => `${key}@${revision}<${newestIntact ?? 'none'}`,
    )
    assert.equal([...gaps, ...keys, `kept ${loss.keptCount}`].join(' '), expected, found)
    assert.equal(loss.compacted, compacted)
  }
  check('2a 3b 4c', { mark: 4 }, 'kept 3')
  check('2a 3b 4c', { mark: 9 }, '5-9 kept 3')
  check('2a 6b', { mark: 8 }, '3-5 7-8 kept 2')
  check('2a 3a 9b', { compacted: 7, mark: 9 }, '8-8 kept 2')
  check('2a 3b 5-a', { mark: 4 }, '4-4 kept 1')
  check('2a 4b', { mark: 4, damaged: '3a' }, '3-3 /a@3<2 kept 2')
  check('4b', { compacted: 4, mark: 4, damaged: '2a 4b' }, '/a@2<none kept 1')
  check('', { mark: 1_000_000_002 }, '2-1000000002 kept 0')
})

test('the versions needed are the history after the compacted revision and the objects that exist at it', () => {
  const check = (all: string, compacted: number, expected: string): void => {
    const needed = neededVersions(versionsOf(all), compacted)
    const shown = showVersions([...needed].sort((left, right) => left.revision - right.revision))
    assert.equal(shown, expected, `${all} compacted at ${compacted}`)
  }
  check('2a 3a 4b 5-b', 0, '2a 3a 4b 5-b')
  check('2a 3a 4b 5-b', 3, '3a 4b 5-b')
  check('2a 3a 4b 5-b', 4, '3a 4b 5-b')
  check('2a 3a 4b 5-b', 5, '3a')
  check('2a 3a 4b 5-b 6b', 5, '3a 6b')
})
