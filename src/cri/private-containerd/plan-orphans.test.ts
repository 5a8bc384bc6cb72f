import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOrphans, type FirstSeen } from './plan-orphans.ts'

test('stray shims, bundles and networks are removed only after the grace period', () => {
  const remains = {
    shims: [
      { pid: 1, id: 'known' },
      { pid: 2, id: 'orphan' },
      { pid: 3, id: 'new' },
    ],
    bundles: ['known', 'orphan', 'new'],
    networks: ['net-known', 'net-orphan', 'net-new'],
  }
  const known = { ids: new Set(['known']), mentions: (text: string) => text === 'net-known' }
  const before: FirstSeen = new Map([
    ['shim 2 orphan', 1_000],
    ['bundle orphan', 1_000],
    ['network net-orphan', 1_000],
    ['network net-gone', 1_000],
  ])
  const { remove, firstSeen } = planOrphans(remains, known, {
    before,
    nowMs: 31_000,
    graceMs: 30_000,
  })
  assert.deepEqual(remove, {
    shims: [{ pid: 2, id: 'orphan' }],
    bundles: ['orphan'],
    networks: ['net-orphan'],
  })
  assert.deepEqual(
    firstSeen,
    new Map([
      ['bundle new', 31_000],
      ['bundle orphan', 1_000],
      ['network net-new', 31_000],
      ['network net-orphan', 1_000],
      ['shim 2 orphan', 1_000],
      ['shim 3 new', 31_000],
    ]),
  )
  const early = planOrphans(remains, known, { before, nowMs: 30_999, graceMs: 30_000 })
  assert.deepEqual(early.remove, { shims: [], bundles: [], networks: [] })
})
