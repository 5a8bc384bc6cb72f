import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Image } from '#/cri/cri.ts'
import { planImageGc, type ImageUse } from './plan-image-gc.ts'

const nowMs = 1_000_000
const settings = { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000 }

/**
 * Parses images as `name detected used` in seconds ago; `-` means never used, an exclamation mark pins the
 * image.
 */
function plan(availableBytes: number, texts: readonly string[], inUse: readonly string[] = []) {
  const uses = new Map<string, ImageUse>()
  const images = texts.map((text): Image => {
    const [id = '', detected = '0', used = '-'] = text.split(' ')
    const ago = (seconds: string): number => nowMs - Number(seconds) * 1_000
    uses.set(id, { detectedMs: ago(detected), usedMs: used === '-' ? 0 : ago(used) })
    return { id, tags: [], digests: [], sizeBytes: 10, isPinned: id.endsWith('!') }
  })
  const space = { capacityBytes: 1_000, availableBytes }
  const { usedPercent, neededBytes, candidates } = planImageGc({
    images,
    uses,
    inUse: new Set(inUse),
    space,
    settings,
    nowMs,
  })
  return `${usedPercent}% ${neededBytes} ${candidates.map(({ id }) => id).join(' ')}`.trim()
}

test('image GC starts above the high threshold and frees to the low threshold', () => {
  const images = ['a 999']
  assert.equal(plan(1_000, images), '0% 0')
  assert.equal(plan(151, images), '85% 49 a')
  assert.equal(plan(160, images), '84% 0')
  assert.equal(plan(150, images), '85% 50 a')
  assert.equal(plan(0, images), '100% 200 a')
  assert.equal(plan(5_000, images), '0% 0')
})

test('image GC removes the least recently used images first', () => {
  assert.equal(plan(0, ['a 500 300', 'b 900 400', 'c 400', 'd 600']), '100% 200 d c b a')
})

test('image GC keeps used, new and pinned images', () => {
  assert.equal(plan(0, ['a 999', 'b 119', 'c 120', 'd! 999', 'e 999 500'], ['a']), '100% 200 c e')
  assert.equal(plan(0, ['a 999'], ['a']), '100% 200')
})
