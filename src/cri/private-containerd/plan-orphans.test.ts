import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOrphans, shimOf, type FirstSeen } from './plan-orphans.ts'

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

test('a shim process is recognized by its command line', () => {
  const cases: readonly [words: string, expected: string | undefined][] = [
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s', 'abc'],
    ['containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s', 'abc'],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /other', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s start', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id abc -address /s -bundle /b delete', undefined],
    ['grep containerd-shim-runc-v2 -id abc -address /s', undefined],
    ['/usr/bin/containerd-shim-runc-v2 -id', undefined],
    ['', undefined],
  ]
  for (const [words, expected] of cases) assert.equal(shimOf(7, words.split(' '), '/s')?.id, expected, words)
})
