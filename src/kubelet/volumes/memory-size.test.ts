import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { memorySizeOf, pageSizeOf } from './memory-size.ts'

function podOf(...lists: readonly Container['resources'][]): Pod {
  const containers = lists.map((resources, index) => ({ name: `c${index}`, ...(resources && { resources }) }))
  return { metadata: {}, spec: { containers } }
}

const limit = (memory: string): Container['resources'] => ({ limits: { memory } })

const sizes: readonly (readonly [pod: Pod, sizeLimit: string | undefined, expected: number | undefined])[] = [
  [podOf({}), undefined, 1_000_000],
  [podOf({}), '4k', 4_000],
  [podOf({}), '0', 1_000_000],
  [podOf({}), '1G', 1_000_000],
  [podOf(limit('10k'), limit('20k')), undefined, 30_000],
  [podOf(limit('10k'), limit('20k')), '40k', 30_000],
  [podOf(limit('10k'), limit('20k')), '5k', 5_000],
  [podOf(limit('10k'), {}), undefined, 1_000_000],
  [podOf(limit('10M')), undefined, 1_000_000],
]

test('the size of an emptyDir in memory is the least of the limits of volume, pod and node', () => {
  for (const [pod, sizeLimit, expected] of sizes) {
    assert.equal(memorySizeOf(pod, sizeLimit, { memory: '1M' }), expected)
  }
  assert.equal(memorySizeOf(podOf({}), undefined, {}), undefined)
})

const pages = (...sizes: readonly string[]): Container['resources'] => ({
  requests: Object.fromEntries(sizes.map(size => [`hugepages-${size}`, '2Mi'])),
})

const mediums: readonly (readonly [pod: Pod, medium: string, expected: string])[] = [
  [podOf(pages('2Mi')), 'HugePages', '2Mi'],
  [podOf(pages('2Mi'), pages('2Mi')), 'HugePages', '2Mi'],
  [podOf(pages('2Mi', '1Gi')), 'HugePages-1Gi', '1Gi'],
  [
    podOf(pages('2Mi'), pages('1Gi')),
    'HugePages',
    "medium: HugePages can't be used if container requests multiple huge page sizes",
  ],
  [
    podOf({}),
    'HugePages',
    'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
  ],
  [
    podOf(pages('2Mi')),
    'HugePages-1Gi',
    'medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages',
  ],
  [podOf({}), 'HugePages-x', 'invalid huge page size: x'],
]

test('an emptyDir of huge pages has the requested page size', () => {
  for (const [pod, medium, expected] of mediums) {
    let found: string
    try {
      found = pageSizeOf(pod, medium)
    } catch (error) {
      found = (error as Error).message
    }
    assert.equal(found, expected)
  }
})
