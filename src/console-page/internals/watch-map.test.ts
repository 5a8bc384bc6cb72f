import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientOfWatch, watchMap, type ServedWatch } from './watch-map.ts'

function watchOf(user: string, resource: string, more: Partial<ServedWatch> = {}): ServedWatch {
  const [plural = '', group] = resource.split('.')
  return {
    user,
    userAgent: user,
    apiVersion: group ? `${group}/v1` : 'v1',
    resource: plural,
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    since: '',
    backlog: 0,
    sent: 1,
    ...more,
  }
}

test('clientOfWatch groups nodes and names programs of people', () => {
  for (const [user, userAgent, client] of [
    ['system:node:node-1', 'kubelet', 'nodes'],
    ['system:kube-scheduler', 'x', 'kube-scheduler'],
    ['system:serviceaccount:kube-system:coredns', 'x', 'coredns'],
    ['system:serviceaccount:shop:default', 'x', 'service accounts of shop'],
    ['ann', 'kubectl/v1.36 (linux)', 'ann (kubectl)'],
    ['ann', 'Mozilla/5.0', 'ann (browser)'],
    ['ann', '', 'ann'],
  ] as const) {
    assert.equal(clientOfWatch({ user, userAgent }), client)
  }
})

test('watchMap counts watches by resource and client', () => {
  const { clients, resources } = watchMap([
    watchOf('system:node:a', 'pods', { backlog: 2 }),
    watchOf('system:node:b', 'pods', { sent: 5 }),
    watchOf('ann', 'deployments.apps'),
  ])
  assert.deepEqual(clients, [
    { name: 'nodes', watches: 2 },
    { name: 'ann', watches: 1 },
  ])
  assert.deepEqual(
    resources.map(({ name, watches, cells }) => [name, watches, Object.fromEntries(cells)]),
    [
      ['deployments.apps', 1, { ann: { watches: 1, backlog: 0, sent: 1 } }],
      ['pods', 2, { nodes: { watches: 2, backlog: 2, sent: 6 } }],
    ],
  )
})

test('watchMap shows a bounded number of clients, and counts each watch once', () => {
  const watches = Array.from({ length: 40 }, (_, index) => watchOf(`user-${index}`, 'pods'))
  const { clients, resources } = watchMap(watches)
  assert.equal(clients.length, 12)
  assert.deepEqual(clients.at(-1), { name: 'other clients', watches: 29 })
  assert.equal(
    resources[0]?.cells.values().reduce((sum, cell) => sum + cell.watches, 0),
    40,
  )
})
