import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataOf, endsInitialEvents, objectsOf, versionOf, watchedEventOf } from './config-maps.ts'

test('a value has the size in its name, and one that is cut or mixed is not mistaken for it', () => {
  const metadata = { name: 'key-1', resourceVersion: '7' }
  const data = dataOf('client1-2-30')
  assert.equal(data.value.length, 'client1-2-30 '.length + 30)
  assert.deepEqual(versionOf({ metadata, data }), { value: 'client1-2-30', revision: 7 })
  const cut = { value: data.value.slice(0, -1) }
  assert.deepEqual(versionOf({ metadata, data: cut }), { value: cut.value, revision: 7 })
  assert.deepEqual(versionOf({ metadata }), { value: '{}', revision: 7 })
})

test('objects and events of other ConfigMaps are left out', () => {
  const own = { metadata: { name: 'key-1', resourceVersion: '7' }, data: dataOf('a-0') }
  const other = { metadata: { name: 'kube-root-ca.crt', resourceVersion: '8' }, data: { 'ca.crt': '' } }
  assert.deepEqual(objectsOf([own, other]), { 'key-1': { value: 'a-0', revision: 7 } })
  assert.deepEqual(watchedEventOf('ADDED', own), { type: 'ADDED', key: 'key-1', value: 'a-0', revision: 7 })
  assert.equal(watchedEventOf('ADDED', other), undefined)
})

test('bookmarks have only a revision; one of them ends the initial events', () => {
  const bookmark = { metadata: { resourceVersion: '9' } }
  assert.deepEqual(watchedEventOf('BOOKMARK', bookmark), { type: 'BOOKMARK', revision: 9 })
  assert.equal(endsInitialEvents('BOOKMARK', bookmark), false)
  const annotations = { 'k8s.io/initial-events-end': 'true' }
  assert.equal(endsInitialEvents('BOOKMARK', { metadata: { resourceVersion: '9', annotations } }), true)
})
