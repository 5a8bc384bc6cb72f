import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { coreRules, serviceAccountRules } from './group.ts'

test('a Binding requires a node as target', () => {
  const { check } = underTest(coreRules['Binding'])
  check({ target: { kind: 'Node', name: 'n1' } })
  check({ target: { name: 'n1' } })
  check(
    { target: { kind: 'Pod' } },
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    'target.name: Required value',
  )
  check({}, 'target.name: Required value')
})

test('validation of ServiceAccount secrets', () => {
  const given = { metadata: {}, secrets: [{ name: 'a', namespace: 'b' }, { name: 'c' }] }
  assert.deepEqual(serviceAccountRules.prepareForCreate?.(given), {
    metadata: {},
    secrets: [{ name: 'a' }, { name: 'c' }],
  })
  const plain = { metadata: {}, secrets: [{ name: 'a' }] }
  assert.equal(serviceAccountRules.prepareForUpdate?.(plain, plain), plain)
})

test('the enforce-mountable-secrets annotation returns a deprecation warning', () => {
  const account = { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } }
  const [warning] = serviceAccountRules.warnings?.(account, undefined) ?? []
  assert.equal(
    warning,
    'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: ' +
      'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
  )
  assert.deepEqual(serviceAccountRules.warnings?.(account, account), [])
})
