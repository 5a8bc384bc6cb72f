import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from './history.ts'
import { objectModelOf, type NextWrite, type ObjectState } from './object-model.ts'
import { historyOf } from './test-history.ts'

const absent: ObjectState = { value: undefined, revision: undefined, revisionMin: 4 }
const present: ObjectState = { value: 'v1', revision: 5, revisionMin: 5 }
/** After a write whose response was lost. */
const unread: ObjectState = { value: 'v1', revision: undefined, revisionMin: 5 }

/** The expected state as text; undefined if the operation is impossible. */
function check(state: ObjectState, operation: string, expected: string | undefined): void {
  checkWatched(undefined, operation, { state, expected })
}

interface Expectation {
  readonly state: ObjectState
  readonly expected: string | undefined
}

function checkWatched(
  next: NextWrite | undefined,
  operation: string,
  { state, expected }: Expectation,
): void {
  const model = objectModelOf(() => next)
  const [record] = historyOf(`0-1 a ${operation}`)
  const after = model.step(state, record as Operation)
  assert.equal(after && model.describe(after), expected, operation)
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
  check(present, 'delete k = ok', 'absent after 5')
  check(present, 'delete k if 4 = ok', undefined)
  check(absent, 'delete k = ok', undefined)
})

test('reads see the last version', () => {
  check(present, 'get k = v1@5', 'v1 at 5')
  check(present, 'get k = v1@6', undefined)
  check(present, 'get k = v2@5', undefined)
  check(absent, 'get k = v1@5', undefined)
  check(absent, 'get k = NotFound', 'absent after 4')
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
  check(absent, 'update k v2 if 5 = NotFound', 'absent after 4')
  check(present, 'delete k = NotFound', undefined)
})

test('a write with an unknown revision is at the one that is read, or that a precondition has', () => {
  check(absent, 'create k v1 = ?', 'v1 at more than 4')
  check(present, 'create k v2 = ?', undefined)
  check(present, 'delete k = ?', 'absent after 5')
  check(unread, 'get k = v1@7', 'v1 at 7')
  check(unread, 'get k = v1@5', undefined)
  check(unread, 'update k v2 if 7 = 8', 'v2 at 8')
  check(unread, 'update k v2 if 7 = Conflict', 'v1 at more than 5')
  check(unread, 'update k v2 if 5 = 8', undefined)
})

test('a write is the next one that a watch has shown', () => {
  const state = present
  const deletion = { revision: 8, value: undefined }
  checkWatched(deletion, 'delete k = ok', { state, expected: 'absent after 8' })
  checkWatched(deletion, 'delete k = ?', { state, expected: 'absent after 8' })
  checkWatched(deletion, 'update k v2 = 9', { state, expected: undefined })
  const update = { revision: 7, value: 'v2' }
  checkWatched(update, 'update k v2 = 7', { state, expected: 'v2 at 7' })
  checkWatched(update, 'update k v2 = 9', { state, expected: undefined })
  checkWatched(update, 'update k v3 = 9', { state, expected: undefined })
  checkWatched(update, 'delete k = ok', { state, expected: undefined })
  checkWatched(update, 'get k = v1@5', { state, expected: 'v1 at 5' })
})
