import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldSet, paths } from './field-set.ts'
import { printPath } from './path-element.ts'
import { excludeFields, type ResetFields } from './reset-fields.ts'

function check(reset: ResetFields, expected: string): void {
  const fields = fieldSet(
    [
      'f:spec f:replicas',
      'f:spec f:containers k:{"name":"a"}',
      'f:spec f:containers k:{"name":"a"} f:image',
      'f:spec f:containers k:{"name":"a"} f:resources f:limits',
      'f:status',
      'f:status f:ready',
    ].map(path => path.split(' ')),
  )
  assert.equal([...paths(reset(fields, 'v1'))].map(printPath).join(' '), expected)
}

test('excludeFields resets fields with all children', () => {
  check(
    excludeFields([['status']]),
    '.spec.replicas .spec.containers[name="a"] .spec.containers[name="a"].image ' +
      '.spec.containers[name="a"].resources.limits',
  )
  check(
    excludeFields([
      ['spec', 'containers'],
      ['status', 'ready'],
    ]),
    '.status .spec.replicas',
  )
})
