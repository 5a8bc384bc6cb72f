import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hugePageAmounts, hugePageResource, pageSizeText } from './huge-pages.ts'

test('huge page sizes have kernel and Kubernetes names', () => {
  const cases: readonly (readonly [number, string, string])[] = [
    [64 * 1024, '64KB', 'hugepages-64Ki'],
    [2 * 1024 ** 2, '2MB', 'hugepages-2Mi'],
    [1024 ** 3, '1GB', 'hugepages-1Gi'],
    [16 * 1024 ** 3, '16GB', 'hugepages-16Gi'],
    [512, '512B', 'hugepages-512'],
  ]
  for (const [sizeBytes, kernel, resource] of cases) {
    assert.equal(pageSizeText(sizeBytes), kernel)
    assert.equal(hugePageResource(sizeBytes), resource)
  }
})

test('huge page amounts are found by page size', () => {
  const list = { 'cpu': '1', 'hugepages-2Mi': '8Mi', 'hugepages-1Gi': '2Gi', 'hugepages-odd': '1' }
  assert.deepEqual(
    [...hugePageAmounts(list)],
    [
      ['2MB', 8 * 1024 ** 2],
      ['1GB', 2 * 1024 ** 3],
    ],
  )
  assert.deepEqual([...hugePageAmounts(undefined)], [])
})
