import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scrollTopFor, virtualWindow } from './virtual-window.ts'

test('virtualWindow covers the visible rows at every scroll position, and few others', () => {
  const geometry = { rowHeight: 30, viewHeight: 605, overscan: 10 }
  for (const count of [0, 1, 7, 25, 5_000]) {
    for (let scrollTop = -50; scrollTop < count * 30 + 100; scrollTop += 17) {
      const { start, end, offset, totalHeight } = virtualWindow({ ...geometry, count, scrollTop })
      const top = Math.min(Math.max(0, scrollTop), Math.max(0, totalHeight - 605))
      assert.ok(start * 30 <= top && offset === start * 30 && start % 2 === 0)
      assert.ok(end === count || end * 30 >= top + 605, `${count} ${scrollTop}`)
      assert.ok(end - start <= 50)
      assert.equal(totalHeight, count * 30)
    }
  }
})

test('scrollTopFor moves no further than needed', () => {
  const view = { rowHeight: 30, viewHeight: 100, scrollTop: 300 }
  assert.equal(scrollTopFor(11, view), 300)
  assert.equal(scrollTopFor(9, view), 270)
  assert.equal(scrollTopFor(13, view), 320)
})
