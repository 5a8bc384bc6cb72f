import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { namespaceRules } from './namespace.ts'
import { coreRules } from './group.ts'

const { check, checkStatus, withDefaults } = underTest(coreRules['Namespace'])

const label = 'kubernetes.io/metadata.name'

test('a Namespace defaults the metadata.name label and phase Active', () => {
  assert.deepEqual(withDefaults({ metadata: { name: 'a', labels: { b: 'c', [label]: 'd' } } }), {
    metadata: { name: 'a', labels: { b: 'c', [label]: 'a' } },
    status: { phase: 'Active' },
  })
  assert.deepEqual(withDefaults({ metadata: { generateName: 'a-' } }), {
    metadata: { generateName: 'a-' },
    status: { phase: 'Active' },
  })
})

test('a new Namespace gets the kubernetes finalizer', () => {
  const created = namespaceRules.prepareForCreate?.({
    metadata: { name: 'a' },
    spec: { finalizers: ['b/c'] },
  })
  assert.deepEqual(created, {
    metadata: { name: 'a', labels: { [label]: 'a' } },
    spec: { finalizers: ['b/c', 'kubernetes'] },
    status: { phase: 'Active' },
  })
  assert.ok(created && namespaceRules.hasPendingFinalization?.(created))
  assert.equal(namespaceRules.hasPendingFinalization?.({ metadata: {}, spec: {} }), false)
  const begun = namespaceRules.beginDeletion?.(
    { metadata: {}, status: { phase: 'Active' } },
    '2026-01-01T00:00:00Z',
  )
  assert.deepEqual(begun, { metadata: {}, status: { phase: 'Terminating' } })
})

test('a Namespace update keeps spec.finalizers', () => {
  const old = { metadata: { name: 'a' }, spec: { finalizers: ['kubernetes'] } }
  const after = namespaceRules.prepareForUpdate?.({ metadata: { name: 'a' }, spec: {} }, old)
  assert.deepEqual(after, {
    metadata: { name: 'a', labels: { [label]: 'a' } },
    spec: { finalizers: ['kubernetes'] },
  })
})

test('Namespace finalizers must be qualified names', () => {
  check({ spec: { finalizers: ['kubernetes', 'orphan', 'a.b/c'] } })
  check(
    { spec: { finalizers: ['mine'] } },
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully quali',
  )
  const finalized = { metadata: {}, spec: { finalizers: ['a.b/c', 'mine'] } }
  const errors = namespaceRules.subresources?.['finalize']?.validate?.(finalized, { metadata: {} })
  assert.deepEqual(
    errors?.map(error => error.field),
    ['spec.finalizers[1]'],
  )
})

test('the Namespace phase must match its deletionTimestamp', () => {
  const namespace = (phase: string, deletionTimestamp?: string) => {
    return { metadata: { name: 'a', deletionTimestamp }, status: { phase } }
  }
  checkStatus(namespace('Active'), namespace('Active'))
  checkStatus(namespace('Terminating', '2026-01-01T00:00:00Z'), namespace('Active'))
  checkStatus(
    namespace('Terminating'),
    namespace('Active'),
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  )
  checkStatus(
    namespace('Active', '2026-01-01T00:00:00Z'),
    namespace('Active'),
    'status.Phase: Invalid value: "Active": may only be \'Terminating\' if `deletionTimestamp` is not empty',
  )
})
