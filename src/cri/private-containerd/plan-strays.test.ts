import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planStrays, shimOf, type FirstSeen } from './plan-strays.ts'

test('stray shims, bundles and networks are removed only after the grace period', () => {
  const traces = {
    shims: [
      { pid: 1, id: 'known' },
      { pid: 2, id: 'stray' },
      { pid: 3, id: 'new' },
    ],
    bundles: ['known', 'stray', 'new'],
    networks: ['net-known', 'net-stray', 'net-new'],
  }
  const known = { ids: new Set(['known']), mentions: (text: string) => text === 'net-known' }
  const before: FirstSeen = new Map([
    ['shim 2 stray', 1_000],
    ['bundle stray', 1_000],
    ['network net-stray', 1_000],
    ['network net-gone', 1_000],
  ])
  const { remove, firstSeen: sightings } = planStrays(traces, known, {
    before,
    nowMs: 31_000,
    graceMs: 30_000,
  })
  assert.deepEqual(remove, { shims: [{ pid: 2, id: 'stray' }], bundles: ['stray'], networks: ['net-stray'] })
  assert.deepEqual(
    sightings,
    new Map([
      ['bundle new', 31_000],
      ['bundle stray', 1_000],
      ['network net-new', 31_000],
      ['network net-stray', 1_000],
      ['shim 2 stray', 1_000],
      ['shim 3 new', 31_000],
    ]),
  )
  const early = planStrays(traces, known, { before, nowMs: 30_999, graceMs: 30_000 })
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
