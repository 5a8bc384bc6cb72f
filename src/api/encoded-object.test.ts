import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodedObject, parseEncodedObject } from './encoded-object.ts'

test('nulls of built-in kinds exist only in JSON', () => {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'a' } }
  const list = { ...role, kind: 'RoleList', metadata: {}, items: [{ metadata: { name: 'a' } }] }
  const custom = { apiVersion: 'example.com/v1', kind: 'Role', metadata: {}, rules: null }
  const parse = (value: unknown) => parseEncodedObject(Buffer.from(JSON.stringify(value)))
  assert.deepEqual(encodedObject(role), { ...role, rules: null })
  assert.deepEqual(encodedObject(custom), custom)
  for (const value of [role, list, { type: 'ADDED', object: role }]) {
    const json = 'type' in value ? { ...value, object: encodedObject(value.object) } : encodedObject(value)
    assert.notDeepEqual(json, value)
    assert.deepEqual(parse(json), value)
  }
  for (const value of [custom, { type: 'ADDED', object: custom }, [null], { a: null }, { object: null }, 1]) {
    assert.deepEqual(parse(value), value)
  }
})
