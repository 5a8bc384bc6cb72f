import assert from 'node:assert/strict'
import { test } from 'node:test'
import { informerLag, selectionText, type InformerState } from './informer-lag.ts'

function check(state: Partial<InformerState>, lag: number | undefined, selection = ''): void {
  const informer: InformerState = {
    component: 'c',
    apiVersion: 'v1',
    resource: 'pods',
    selection: {},
    objects: 0,
    lastChange: 10,
    ...state,
  }
  assert.equal(informerLag(informer), lag)
  assert.equal(selectionText(informer), selection)
}

test('informerLag is known for informers that see all changes, and for those that are current', () => {
  check({}, undefined)
  check({ resourceVersion: '10' }, 0)
  check({ resourceVersion: '12' }, 0)
  check({ resourceVersion: '7' }, 3)
  check({ resourceVersion: '7', selection: { metadataOnly: true } }, 3, 'metadata only')
  check({ resourceVersion: '7', selection: { namespace: 'shop' } }, undefined, 'shop')
  check(
    { resourceVersion: '10', selection: { namespace: 'shop', fieldSelector: 'a=b' } },
    ...([0, 'shop, a=b'] as const),
  )
})
