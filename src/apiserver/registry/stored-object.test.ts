import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoredObject } from './stored-object.ts'

test('the uid is that of metadata, also without decoding the object', () => {
  const check = (metadata: object, expected: string, rest: object = {}): void => {
    const json = JSON.stringify({ kind: 'Thing', apiVersion: 'example.com/v1', metadata, ...rest })
    const stored = new StoredObject({ key: '/a', revision: 7, value: Buffer.from(json) })
    assert.equal(stored.uid, expected, json)
    assert.equal(stored.isDecoded, false)
    assert.equal(stored.object.metadata.uid ?? '', expected)
    assert.equal(stored.uid, expected)
  }
  check({ name: 'a', uid: 'u-1' }, 'u-1')
  check({ uid: 'u-1', ownerReferences: [{ uid: 'u-2' }] }, 'u-1')
  check({ name: 'uid', ownerReferences: [{ uid: 'u-2', name: 'x"}]' }], uid: 'u-1' }, 'u-1')
  check({ annotations: { 'uid': 'no', 'a\\': '"uid":"no"\\' }, finalizers: ['uid'], uid: 'u-1' }, 'u-1')
  check({ managedFields: [{ fieldsV1: { 'f:uid': {} } }], uid: 'u-1' }, 'u-1')
  check({ name: 'a', labels: { uid: 'no' } }, '', { spec: { uid: 'no' } })
  check({}, '', { spec: { uid: 'no' } })
  for (const text of [
    '',
    'k8s:enc:aescbc:v1:k:{"metadata":{"uid":"u-1"}}',
    '{"kind":"Thing","metadata":{"uid',
  ])
    assert.equal(new StoredObject({ key: '/a', revision: 7, value: Buffer.from(text) }).uid, '', text)
})
