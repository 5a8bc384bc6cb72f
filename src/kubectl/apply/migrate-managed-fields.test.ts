import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { lastAppliedOwners, migrateManagedFields } from './migrate-managed-fields.ts'

/** `kubectl:Apply:a,b` owns the fields a and b; a third colon begins a subresource. */
function entry(text: string): JsonObject {
  const [manager = '', operation = '', fields = '', subresource] = text.split(':')
  const fieldsV1 = Object.fromEntries(fields.split(',').map(field => [`f:${field}`, {}]))
  return { manager, operation, apiVersion: 'v1', fieldsV1, ...(subresource && { subresource }) }
}

function shown({ manager, operation, fieldsV1, subresource }: JsonObject): string {
  const fields = Object.keys(fieldsV1 as JsonObject).map(field => field.slice(2))
  const owner = [manager, operation]
    .map(each => JSON.stringify(each))
    .join(':')
    .replaceAll('"', '')
  return `${owner}:${fields.join(',')}${subresource === undefined ? '' : ':sub'}`
}

test('the fields of client-side apply move to the manager of server-side apply', () => {
  const check = (before: string, after: string | undefined): void => {
    const options = { updaters: ['csa'], applier: 'kubectl' }
    const migrated = migrateManagedFields(before.split(' ').map(entry), options)
    assert.equal(migrated?.map(shown).join(' '), after)
  }
  check('csa:Update:a,b', 'kubectl:Apply:a,b')
  check('csa:Update:a,b kubectl:Apply:b,c', 'kubectl:Apply:b,c,a')
  check('csa:Update:a other:Update:b', 'kubectl:Apply:a other:Update:b')
  check('csa:Update:a:status kubectl:Apply:b', undefined)
  check('kubectl:Apply:a other:Update:b', undefined)
  check('csa:Apply:a', undefined)
})

test('managers that set the annotation are found by operation', () => {
  const annotation = { 'f:kubectl.kubernetes.io/last-applied-configuration': {} }
  const fieldsV1 = { 'f:metadata': { 'f:annotations': annotation } }
  const entries = [
    { manager: 'a', operation: 'Update', fieldsV1 },
    { manager: 'b', operation: 'Apply', fieldsV1 },
    { manager: 'c', operation: 'Update', fieldsV1: { 'f:metadata': {} } },
  ]
  assert.deepEqual(lastAppliedOwners(entries, 'Update'), ['a'])
  assert.deepEqual(lastAppliedOwners(entries, 'Apply'), ['b'])
})
