import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maskSecrets } from './object-versions.ts'

test('values of Secrets are masked, and differences stay visible', () => {
  const live = { kind: 'Secret', data: { same: 'a', changed: 'a', gone: 'a' } }
  const merged = { kind: 'Secret', data: { same: 'a', changed: 'b', new: 'b' } }
  assert.deepEqual(maskSecrets({ live, merged }), {
    live: { kind: 'Secret', data: { same: '***', changed: '*** (before)', gone: '***' } },
    merged: { kind: 'Secret', data: { same: '***', changed: '*** (after)', new: '***' } },
  })
  assert.deepEqual(maskSecrets({ merged }), {
    merged: { kind: 'Secret', data: { same: '***', changed: '***', new: '***' } },
  })
  assert.deepEqual(maskSecrets({ live: { kind: 'Secret' }, merged: { kind: 'Secret' } }), {
    live: { kind: 'Secret' },
    merged: { kind: 'Secret' },
  })
})
