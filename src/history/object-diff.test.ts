import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteRecord } from '#/api/write-record.ts'
import { addWrite, positionOf, type ChangedObject, type Interval } from './changed-objects.ts'
import { diffStates, formatObjectDiffs, type ObjectStates } from './object-diff.ts'

function write(revision: number, type: WriteRecord['type'], name: string): WriteRecord {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    namespace: 'shop',
    name,
    uid: 'u',
  }
  const origin = { user: `user-${revision}`, userAgent: '', verb: 'update', receivedMs: 0, steps: [] }
  return { revision, timeMs: revision * 1_000, type, object, origin }
}

const interval9 = 'from revision 1 to revision 9'
const interval: Interval = { from: { type: 'revision', revision: 1 }, to: { type: 'revision', revision: 9 } }

test('the interval excludes its start and includes its end, by revision and by time', () => {
  const byTime: Interval = { from: { type: 'time', timeMs: 1_000 }, to: { type: 'time', timeMs: 9_000 } }
  for (const each of [interval, byTime]) {
    const positions = [1, 2, 9, 10].map(revision => positionOf(write(revision, 'MODIFIED', 'a'), each))
    assert.deepEqual(positions, ['before', 'within', 'within', 'after'])
  }
})

test('objects are added, removed, changed, replaced or transient, with those who wrote them', () => {
  const changed = new Map<string, ChangedObject>()
  const writes: readonly (readonly [WriteRecord['type'], string])[] = [
    ['ADDED', 'new'],
    ['MODIFIED', 'edited'],
    ['MODIFIED', 'edited'],
    ['DELETED', 'old'],
    ['ADDED', 'brief'],
    ['DELETED', 'brief'],
    ['DELETED', 'other'],
    ['MODIFIED', 'same'],
  ]
  writes.forEach(([type, name], index) => addWrite(changed, write(index + 2, type, name)))
  const object = (uid: string, value: string) => ({ metadata: { uid }, data: { key: value } })
  const states: Readonly<Record<string, ObjectStates>> = {
    new: { before: undefined, after: object('a', '1') },
    edited: { before: object('b', '1'), after: object('b', '2') },
    old: { before: object('c', '1'), after: undefined },
    brief: { before: undefined, after: undefined },
    other: { before: object('d', '1'), after: object('e', '1') },
    same: { before: object('f', '1'), after: object('f', '1') },
  }
  const diffs = [...changed.values()].flatMap(each => {
    const diff = diffStates(each, states[each.object.name]!, { specOnly: false })
    return diff === undefined ? [] : [diff]
  })
  assert.equal(
    formatObjectDiffs(diffs, interval),
    `+ ConfigMap shop/new: added (user-2)
~ ConfigMap shop/edited (user-3, user-4)
    ~ data.key: "1" -> "2"
- ConfigMap shop/old: removed (user-5)
  ConfigMap shop/brief: created and deleted in between (user-6, user-7)
~ ConfigMap shop/other: deleted and created again (user-8)
    ~ metadata.uid: "d" -> "e"

1 added, 1 removed, 1 changed, 1 deleted and created again, 1 created and deleted in between ${interval9}
`,
  )
  assert.equal(formatObjectDiffs([], interval), `no differences ${interval9}\n`)
})
