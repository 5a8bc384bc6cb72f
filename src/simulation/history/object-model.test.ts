import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from './history.ts'
import { objectModelOf, type KnownWrites, type ObjectState } from './object-model.ts'
import { historyOf } from './test-history.ts'

const absent: ObjectState = { value: undefined, revisionMin: 4, isExact: true, quietUntil: 4 }
const present: ObjectState = { value: 'v1', revisionMin: 5, isExact: true, quietUntil: 5 }
/** After a write whose response was lost. */
const unread: ObjectState = { value: 'v1', revisionMin: 6, isExact: false, quietUntil: undefined }

/** The expected state as text; undefined if the operation is impossible. */
function check(state: ObjectState, operation: string, expected: string | undefined): void {
  const model = objectModelOf(untilRevision => ({ untilRevision }))
  const after = model.step(state, operationOf(operation))
  assert.equal(after && model.describe(after), expected, operation)
}

function operationOf(text: string): Operation {
  return historyOf(`0-1 a ${text}`)[0] as Operation
}

test('writes need the right state, and a higher revision than all before', () => {
  check(absent, 'create k v2 = 6', 'v2 at 6')
  check(absent, 'create k v2 = 4', undefined)
  check(present, 'create k v2 = 6', undefined)
  check(present, 'update k v2 if 5 = 6', 'v2 at 6')
  check(present, 'update k v2 if 4 = 6', undefined)
  check(present, 'update k v2 = 5', undefined)
  check(absent, 'update k v2 = 6', undefined)
  check(present, 'patch k v2 = 6', 'v2 at 6')
  check(absent, 'apply k v2 = 6', 'v2 at 6')
  check(present, 'apply k v2 = 6', 'v2 at 6')
  check(present, 'delete k = ok', 'absent at 6 or later')
  check(present, 'delete k if 4 = ok', undefined)
  check(absent, 'delete k = ok', undefined)
})

test('reads see the last version', () => {
  check(present, 'get k = v1@5', 'v1 at 5')
  check(present, 'get k = v1@6', undefined)
  check(present, 'get k = v2@5', undefined)
  check(absent, 'get k = v1@5', undefined)
  check(absent, 'get k = NotFound', 'absent at 4')
  check(present, 'get k = NotFound', undefined)
})

test('failures are only those that the state explains', () => {
  check(present, 'create k v2 = AlreadyExists', 'v1 at 5')
  check(absent, 'create k v2 = AlreadyExists', undefined)
  check(present, 'apply k v2 = AlreadyExists', undefined)
  check(present, 'update k v2 if 4 = Conflict', 'v1 at 5')
  check(present, 'update k v2 if 5 = Conflict', undefined)
  check(absent, 'update k v2 if 5 = Conflict', undefined)
  check(present, 'update k v2 = Conflict', 'v1 at 5')
  check(absent, 'update k v2 if 5 = NotFound', 'absent at 4')
  check(present, 'delete k = NotFound', undefined)
})

test('a write with an unknown revision is at the one that is read, or that a precondition has', () => {
  check(absent, 'create k v1 = ?', 'v1 at 5 or later')
  check(present, 'create k v2 = ?', undefined)
  check(present, 'delete k = ?', 'absent at 6 or later')
  check(unread, 'get k = v1@7', 'v1 at 7')
  check(unread, 'get k = v1@5', undefined)
  check(unread, 'update k v2 if 7 = 8', 'v2 at 8')
  check(unread, 'update k v2 if 7 = Conflict', 'v1 at 6 or later')
  check(unread, 'update k v2 if 5 = 8', undefined)
})

test('a write is the next one that a watch has shown', () => {
  const check = (
    next: KnownWrites['next'] & object,
    operation: string,
    expected: string | undefined,
  ): void => {
    const model = objectModelOf(() => ({ next, untilRevision: 10 }))
    const after = model.step(present, operationOf(operation))
    assert.equal(after && model.describe(after), expected, operation)
  }
  const deletion = { revision: 8, value: undefined }
  check(deletion, 'delete k = ok', 'absent at 8')
  check(deletion, 'delete k = ?', 'absent at 8')
  check(deletion, 'update k v2 = 9', undefined)
  const update = { revision: 7, value: 'v2' }
  check(update, 'update k v2 = 7', 'v2 at 7')
  check(update, 'update k v2 = 9', undefined)
  check(update, 'update k v3 = 9', undefined)
  check(update, 'delete k = ok', undefined)
  check(update, 'get k = v1@5', 'v1 at 5')
})

test('a write that a watch has not shown comes after what the watch has shown, and before later writes', () => {
  const model = objectModelOf(() => ({ untilRevision: 10 }))
  const check = (revisionBelow: number, operation: string, expected: string | undefined): void => {
    const after = model.step(present, { ...operationOf(operation), revisionBelow })
    assert.equal(after && model.describe(after), expected, operation)
  }
  check(12, 'delete k = ok', 'absent at 11 or later')
  check(11, 'delete k = ok', undefined)
  check(11, 'update k v2 = ?', undefined)
  check(12, 'update k v2 = 11', 'v2 at 11')
  check(6, 'get k = v1@5', 'v1 at 5')
  check(5, 'get k = v1@5', undefined)
})

test('after a list, the next write has a higher revision', () => {
  const model = objectModelOf(untilRevision => ({ untilRevision }))
  const listed = model.step(absent, { ...operationOf('get k = NotFound'), listRevision: 9 })!
  assert.equal(model.describe(listed), 'absent at 4, until 9')
  const created = model.step(listed, operationOf('create k v2 = ?'))!
  assert.equal(model.describe(created), 'v2 at 10 or later')
  assert.equal(model.step(listed, operationOf('create k v2 = 9')), undefined)
})
