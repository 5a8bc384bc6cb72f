import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import { fieldSet, paths } from './field-set.ts'
import {
  capUpdateEntries,
  decodeManagedFields,
  encodeManagedFields,
  identify,
  isResetManagedFields,
  withManagedFields,
  type ManagedEntry,
} from './managed-fields.ts'
import { FieldPathError, printPath } from './path-element.ts'
import type { JsonObject } from './structure.ts'

const plain = {
  manager: 'm',
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:a': {} },
}

test('managed fields entries are identified by manager, operation, subresource and, for updates, version', () => {
  const base = { manager: 'm', apiVersion: 'v1', subresource: '' }
  assert.equal(
    identify({ ...base, operation: 'Update' }),
    '{"manager":"m","operation":"Update","apiVersion":"v1"}',
  )
  assert.equal(identify({ ...base, operation: 'Apply' }), '{"manager":"m","operation":"Apply"}')
  assert.equal(
    identify({ ...base, operation: 'Apply', subresource: 'status' }),
    '{"manager":"m","operation":"Apply","subresource":"status"}',
  )
  assert.equal(identify({ ...base, manager: '', operation: 'Apply' }), '{"operation":"Apply"}')
})

test("managed fields are encoded in Kubernetes' order", () => {
  const list = deepFreeze<JsonObject[]>([
    { ...plain, manager: 'z', operation: 'Apply', time: '2026-01-02T00:00:00Z' },
    { ...plain, manager: 'b' },
    { ...plain, manager: 'c', time: '2026-01-01T00:00:00Z' },
    { ...plain, manager: 'a', time: '2026-01-01T00:00:01Z' },
    { ...plain, manager: 'a', apiVersion: 'v2', time: '2026-01-01T00:00:01Z' },
    { ...plain, manager: 'a', apiVersion: 'v2', time: '2026-01-01T00:00:01Z', subresource: 'status' },
  ])
  assert.deepEqual(encodeManagedFields(decodeManagedFields(list)), list)
  const shuffled = deepFreeze(list.toReversed())
  assert.deepEqual(encodeManagedFields(decodeManagedFields(shuffled)), list)
})

test('an entry is written with its fields in the order of Kubernetes', () => {
  const entry: ManagedEntry = {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    subresource: 'status',
    time: 't',
    fields: fieldSet([['f:a']]),
  }
  assert.equal(
    JSON.stringify(encodeManagedFields(new Map([['', entry]]))),
    '[{"manager":"m","operation":"Update","apiVersion":"v1","time":"t","fieldsType":"FieldsV1",' +
      '"fieldsV1":{"f:a":{}},"subresource":"status"}]',
  )
  assert.equal(encodeManagedFields(new Map()), undefined)
})

test('of two managed fields entries with one identity the later wins', () => {
  const entries = decodeManagedFields([plain, { ...plain, fieldsV1: { 'f:b': {} } }])
  assert.deepEqual(
    [...entries.values()].map(({ fields }) => [...paths(fields)].map(printPath).join()),
    ['.b'],
  )
})

test('malformed managed fields entries are rejected', () => {
  const refused: [JsonValue, RegExp][] = [
    [{}, /^operation must be `Apply` or `Update`$/],
    [null, /^operation must be/],
    [{ ...plain, operation: 'Delete' }, /^operation must be/],
    [{ ...plain, apiVersion: '' }, /^apiVersion must not be empty$/],
    [{ ...plain, fieldsType: '' }, /^missing fieldsType in managed fields entry 0$/],
    [{ ...plain, fieldsType: 'FieldsV2' }, /^invalid fieldsType "FieldsV2" in managed fields entry 0$/],
    [{ ...plain, fieldsV1: { x: {} } }, /^key must be 2 characters long/],
    [{ ...plain, fieldsV1: 'f:a' }, /^fieldsV1 must be an object$/],
    [{ ...plain, manager: {} }, /^manager must be a string$/],
    [{ ...plain, time: 5 }, /^time must be a string$/],
    [JSON.parse('{"__proto__":{"operation":"Apply"}}'), /^operation must be/],
  ]
  for (const [entry, message] of refused) {
    assert.throws(
      () => decodeManagedFields([entry]),
      error => error instanceof FieldPathError && message.test(error.message),
    )
  }
})

test('an empty list or a single empty entry resets managed fields', () => {
  for (const value of [[], [{}], [{ manager: '', time: null }]]) assert.ok(isResetManagedFields(value))
  for (const value of [undefined, null, [plain], [{}, {}], [null], ['']])
    assert.ok(!isResetManagedFields(value))
})

test('withManagedFields does not mutate the object', () => {
  const object = deepFreeze({ kind: 'A', metadata: { name: 'a', managedFields: [plain] } })
  assert.deepEqual(withManagedFields(object, undefined), { kind: 'A', metadata: { name: 'a' } })
  assert.equal(withManagedFields(object, object.metadata.managedFields), object)
  assert.deepEqual(withManagedFields({}, [plain]), { metadata: { managedFields: [plain] } })
  const bare = deepFreeze({ kind: 'A' })
  assert.equal(withManagedFields(bare, undefined), bare)
})

/** Entries in short notation, one minute apart: `a b v2/c`; each entry owns the field of the same name. */
function entriesOf(text: string): Map<string, ManagedEntry> {
  return new Map(
    text.split(' ').map((each, index) => {
      const [manager = '', apiVersion = 'v1'] = each.split('/').toReversed()
      const operation = manager.startsWith('apply-') ? 'Apply' : 'Update'
      const time = `2026-01-01T00:${String(index).padStart(2, '0')}:00Z`
      const entry: ManagedEntry = {
        manager,
        operation,
        apiVersion,
        subresource: '',
        time,
        fields: fieldSet([[`f:${manager}`]]),
      }
      return [identify(entry), entry]
    }),
  )
}

function checkCapped(before: string, after: string): void {
  const shown = [...capUpdateEntries(entriesOf(before)).values()].map(({ manager, apiVersion, fields }) => {
    const owned = [...paths(fields)].map(path => printPath(path).slice(1)).join('+')
    return `${apiVersion === 'v1' ? '' : `${apiVersion}/`}${manager}${owned === manager ? '' : `:${owned}`}`
  })
  assert.equal(shown.join(' '), after)
}

test('beyond ten update entries the oldest of a version are merged', () => {
  checkCapped('a b c d e f g h i j', 'a b c d e f g h i j')
  checkCapped('apply-1 apply-2 a b c d e f g h i j', 'apply-1 apply-2 a b c d e f g h i j')
  checkCapped('a b c d e f g h i j k', 'c d e f g h i j k ancient-changes:a+b')
  checkCapped('a b c d e f g h i j k l', 'd e f g h i j k l ancient-changes:a+b+c')
  checkCapped('ancient-changes a b c d e f g h i j', 'b c d e f g h i j ancient-changes:a+ancient-changes')
  checkCapped('a ancient-changes b c d e f g h i j', 'b c d e f g h i j ancient-changes:a+ancient-changes')
  checkCapped(
    'a b ancient-changes c d e f g h i j k',
    'c d e f g h i j k ancient-changes:a+ancient-changes+b',
  )
  checkCapped('v2/a b c d e f g h i j k', 'v2/a d e f g h i j k ancient-changes:b+c')
})
