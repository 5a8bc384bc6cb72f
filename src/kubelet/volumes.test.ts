import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mountsBelow } from './volumes.ts'

test('nested mounts are unmounted first, and mounts outside of the pod directory are kept', () => {
  const table = [
    '/',
    '/pods/a',
    '/pods/a/x',
    '/pods/ab/x',
    '/pods/a/x/y/z',
    '/pods/a/x',
    '/pods/a/w/v',
    '/pods',
  ]
  const mounts = table.map(path => ({ path, type: 'tmpfs', source: 'tmpfs' }))
  assert.deepEqual(mountsBelow(mounts, '/pods/a'), ['/pods/a/x/y/z', '/pods/a/w/v', '/pods/a/x', '/pods/a'])
})
