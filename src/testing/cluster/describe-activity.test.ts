import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeActivity } from './describe-activity.ts'

test('the description lists pending work and the most frequent writes', () => {
  const keys = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6', 'a/7']
  const busy = new Map([
    ['deployment-controller', ['default/web']],
    ['kubelet of node-1', keys],
  ])
  const activity = { busiest: () => ['me: PUT /a (7 times)'], runaway: undefined }
  assert.equal(
    describeActivity({ withinMs: 90_000, activity, busy }),
    `the cluster did not settle within 1m30s
pending work:
  deployment-controller: default/web
  kubelet of node-1: a/1, a/2, a/3, a/4, a/5 and 2 others
most frequent writes:
  me: PUT /a (7 times)`,
  )
  assert.equal(
    describeActivity({
      withinMs: 1,
      activity: { busiest: () => [], runaway: 'me: PUT /a' },
      busy: new Map(),
    }),
    'the cluster does not settle: repeated write me: PUT /a',
  )
})
