import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError, type FieldError } from './field-error.ts'
import { deepFreeze } from './text/json-value.ts'
import type { ObjectMeta } from './metadata.ts'
import { labelNames, subdomainNames } from './names.ts'
import { validateFieldManager, validateMetadata, validateMetadataUpdate } from './validate-metadata.ts'

/** Shortened messages: the full texts are tested with their rules. */
function texts(errors: readonly FieldError[]): string[] {
  const rule = /(a lowercase RFC 1123|name part must consist|a valid label must).*/
  return errors.map(error => formatFieldError(error).replace(rule, '...'))
}

const valid: ObjectMeta = deepFreeze({ name: 'web', namespace: 'default' })

function checkCreate(change: ObjectMeta, ...expected: readonly string[]): void {
  const metadata = deepFreeze({ ...valid, ...change })
  assert.deepEqual(texts(validateMetadata(metadata, { names: subdomainNames, namespaced: true })), expected)
}

const stored: ObjectMeta = deepFreeze({
  name: 'web',
  namespace: 'default',
  uid: 'u1',
  resourceVersion: '7',
  generation: 2,
  creationTimestamp: '2026-01-01T00:00:00Z',
})

function checkUpdate(change: ObjectMeta, ...expected: readonly string[]): void {
  const errors = validateMetadataUpdate(deepFreeze({ ...stored, ...change }), stored)
  assert.deepEqual([...new Set(texts(errors))], expected)
}

test('metadata.name is required and must match the name rule of the kind', () => {
  checkCreate({})
  checkCreate({ name: '' }, 'metadata.name: Required value: name or generateName is required')
  checkCreate({ name: 'Web' }, 'metadata.name: Invalid value: "Web": ...')
  checkCreate({ generateName: 'web-' })
  checkCreate({ generateName: 'Web-' }, 'metadata.generateName: Invalid value: "Web-": ...')
  checkCreate(
    { name: '', generateName: '-' },
    'metadata.generateName: Invalid value: "-": ...',
    'metadata.name: Required value: name or generateName is required',
  )
  const dotted = validateMetadata({ ...valid, name: 'a.b' }, { names: labelNames, namespaced: true })
  assert.deepEqual(texts(dotted), ['metadata.name: Invalid value: "a.b": must not contain dots'])
})

test('metadata.namespace is required for namespaced kinds only', () => {
  checkCreate({ namespace: '' }, 'metadata.namespace: Required value')
  checkCreate({ namespace: 'A' }, 'metadata.namespace: Invalid value: "A": ...')
  const cluster = { names: subdomainNames, namespaced: false }
  assert.deepEqual(texts(validateMetadata({ name: 'n' }, cluster)), [])
  assert.deepEqual(texts(validateMetadata(valid, cluster)), [
    'metadata.namespace: Forbidden: not allowed on this type',
  ])
})

test('validation of labels, annotations and generation', () => {
  checkCreate(
    { labels: { 'a b': '-' } },
    'metadata.labels: Invalid value: "a b": ...',
    'metadata.labels: Invalid value: "-": ...',
  )
  checkCreate({ annotations: { 'Example.COM/Key': 'anything at all\n' } })
  checkCreate({ annotations: { 'a b': '' } }, 'metadata.annotations: Invalid value: "a b": ...')
  checkCreate({ annotations: { a: 'x'.repeat(262_143) } })
  checkCreate(
    { annotations: { a: 'x'.repeat(262_144) } },
    'metadata.annotations: Too long: may not be more than 262144 bytes',
  )
  checkCreate(
    { annotations: { a: 'é'.repeat(131_072) } },
    'metadata.annotations: Too long: may not be more than 262144 bytes',
  )
  checkCreate(
    { annotations: JSON.parse('{"__proto__":"x"}') as Record<string, string> },
    'metadata.annotations: Invalid value: "__proto__": ...',
  )
  checkCreate(
    { generation: -1 },
    'metadata.generation: Invalid value: -1: must be greater than or equal to 0',
  )
})

test('owner references must be complete, with at most one controller and no Event as owner', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a', uid: 'u' }
  checkCreate({ ownerReferences: [owner, { ...owner, controller: true }, { ...owner, controller: false }] })
  checkCreate(
    { ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] },
    'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
    'metadata.ownerReferences.name: Invalid value: "": must not be empty',
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  )
  checkCreate(
    { ownerReferences: [{ ...owner, apiVersion: 'a/b/c' }] },
    'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
  )
  checkCreate(
    { ownerReferences: [{ uid: 'u', name: 'e', kind: 'Event', apiVersion: 'v1' }] },
    'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: ' +
      '/v1, Kind=Event is disallowed from being an owner',
  )
  const controllers = [
    { ...owner, controller: true },
    { ...owner, name: 'b', controller: true },
  ]
  checkCreate(
    { ownerReferences: controllers },
    `metadata.ownerReferences: Invalid value: ${JSON.stringify(controllers)}: Only one reference can have ` +
      'Controller set to true. Found "true" in references for ReplicaSet/a and ReplicaSet/b',
  )
})

test('finalizers must be qualified names, and orphan and foregroundDeletion exclude each other', () => {
  checkCreate({ finalizers: ['example.com/a', 'plain', 'orphan'] })
  checkCreate({ finalizers: ['a b'] }, 'metadata.finalizers: Invalid value: "a b": ...')
  checkCreate(
    { finalizers: ['orphan', 'foregroundDeletion'] },
    'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and ' +
      'foregroundDeletion cannot be both set',
  )
})

test('finalizers of most built-in kinds must be standard or qualified', () => {
  const finalizers = ['orphan', 'a/b', 'plain']
  const unqualified =
    'metadata.finalizers[2]: Invalid value: "plain": name is neither a standard finalizer name nor is it ' +
    'fully qualified'
  const rules = { names: subdomainNames, namespaced: true, qualifiedFinalizers: true }
  assert.deepEqual(texts(validateMetadata({ ...valid, finalizers }, rules)), [unqualified])
  assert.deepEqual(texts(validateMetadataUpdate({ ...stored, finalizers }, stored, rules)), [unqualified])
  assert.deepEqual(texts(validateMetadataUpdate({ ...stored, finalizers }, stored)), [])
})

test('an update reports an error once for each check that finds it', () => {
  const errors = validateMetadataUpdate({ ...stored, labels: { a: '-' } }, stored)
  const fields = errors.map(error => error.field)
  assert.deepEqual(fields, ['metadata.labels', 'metadata.labels', 'metadata.labels'])
  const immutable = validateMetadataUpdate({ ...stored, name: 'other' }, stored).map(error => error.field)
  assert.deepEqual(immutable, ['metadata.name', 'metadata.name'])
})

test('validation of managed fields', () => {
  const good = { operation: 'Apply', fieldsType: 'FieldsV1', manager: 'kubectl' }
  checkCreate({ managedFields: [good, { operation: 'Update' }] })
  const bad = { operation: 'Delete', fieldsType: 'V2', manager: 'a\n', subresource: 's'.repeat(257) }
  checkCreate(
    { managedFields: [bad] },
    'metadata.managedFields[0].operation: Invalid value: "Delete": must be `Apply` or `Update`',
    'metadata.managedFields[0].fieldsType: Invalid value: "V2": must be `FieldsV1`',
    'metadata.managedFields[0].manager: Invalid value: "a\\n": invalid character U+000A (at position 1)',
    'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
  )
  assert.deepEqual(texts(validateFieldManager('x'.repeat(129), 'm')), [
    'm: Too long: may not be more than 128 bytes',
  ])
  assert.deepEqual(texts(validateFieldManager('é\u{e0001}', 'm')), [
    'm: Invalid value: "é\\U000e0001": invalid character U+E0001 (at position 2)',
  ])
  assert.ok(validateFieldManager('\0'.repeat(1_000_000), 'm').length < 20)
})

test('immutable metadata fields', () => {
  checkUpdate({})
  checkUpdate({ generation: 3, labels: { a: 'b' }, finalizers: ['new'] })
  checkUpdate({ name: 'other' }, 'metadata.name: Invalid value: "other": field is immutable')
  checkUpdate({ namespace: 'other' }, 'metadata.namespace: Invalid value: "other": field is immutable')
  checkUpdate({ uid: '' }, 'metadata.uid: Invalid value: "": field is immutable')
  checkUpdate(
    { creationTimestamp: undefined },
    'metadata.creationTimestamp: Invalid value: null: field is immutable',
  )
  checkUpdate(
    { deletionTimestamp: '2026-01-01T00:00:00Z' },
    'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
  )
  checkUpdate(
    { deletionGracePeriodSeconds: 0 },
    'metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable',
  )
  checkUpdate(
    { resourceVersion: '' },
    'metadata.resourceVersion: Invalid value: "": must be specified for an update',
  )
  checkUpdate({ generation: 1 }, 'metadata.generation: Invalid value: 1: must not be decremented')
  checkUpdate(
    { generation: -1n },
    'metadata.generation: Invalid value: -1: must be greater than or equal to 0',
    'metadata.generation: Invalid value: -1: must not be decremented',
  )
  checkUpdate({ labels: { a: '-' } }, 'metadata.labels: Invalid value: "-": ...')
})

test('finalizers may be removed but not added during deletion', () => {
  const old = { ...stored, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a', 'b'] }
  const check = (finalizers: readonly string[], ...expected: readonly string[]): void => {
    assert.deepEqual([...new Set(texts(validateMetadataUpdate({ ...old, finalizers }, old)))], expected)
  }
  check(['b'])
  check([])
  check(
    ['a', 'd', 'c', 'd'],
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found ' +
      'new finalizers []string{"c", "d"}',
  )
})

test('metadata validation takes linear time', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => `k${index}`)
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u', controller: true }
  const errors = validateMetadata(
    {
      ...valid,
      labels: Object.fromEntries(many.map(key => [key, key])),
      annotations: Object.fromEntries(many.map(key => [key, ''])),
      finalizers: many,
      ownerReferences: many.map(() => owner),
    },
    { names: subdomainNames, namespaced: true },
  )
  assert.equal(
    errors.every(error => error.field === 'metadata.ownerReferences'),
    true,
  )
  assert.equal(errors.length, 10)
})
