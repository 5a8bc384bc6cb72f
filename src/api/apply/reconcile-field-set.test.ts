import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldSet, paths, type FieldSet } from './field-set.ts'
import { printPath } from './path-element.ts'
import {
  emptyObject,
  reconcileFieldSetWithSchema,
  ensureNamedFieldsAreMembers,
} from './reconcile-field-set.ts'
import { configMapSchema, customSchema, deploymentSchema } from './testdata/schemas.ts'
import type { StructSchema } from '../schema.ts'

function set(...texts: readonly string[]): FieldSet {
  return fieldSet(texts.map(text => text.split(' ')))
}

function show(fields: FieldSet): string {
  return [...paths(fields)].map(printPath).join(' ')
}

test('ensureNamedFieldsAreMembers adds struct fields but not map keys or items', () => {
  assert.equal(
    show(ensureNamedFieldsAreMembers(deploymentSchema, set('f:metadata f:labels f:a'))),
    '.metadata .metadata.labels .metadata.labels.a',
  )
  assert.equal(
    show(ensureNamedFieldsAreMembers(deploymentSchema, set('f:status f:conditions k:{"type":"A"} f:status'))),
    '.status .status.conditions .status.conditions[type="A"].status',
  )
  assert.equal(
    show(ensureNamedFieldsAreMembers(customSchema, set('f:spec f:other f:deep'))),
    '.spec .spec.other.deep',
  )
  const unknown = set('f:unknown f:a')
  assert.equal(ensureNamedFieldsAreMembers(deploymentSchema, unknown), unknown)
})

test('reconcileFieldSetWithSchema collapses fields of types that became atomic', () => {
  const parts = set('f:spec f:selector f:matchLabels f:a', 'f:spec f:replicas')
  assert.equal(show(reconcileFieldSetWithSchema(deploymentSchema, parts)), '.spec.replicas .spec.selector')
  const fitting = set('f:spec f:selector', 'f:status f:conditions k:{"type":"A"}')
  assert.equal(reconcileFieldSetWithSchema(deploymentSchema, fitting), fitting)
  const free = set('f:anything f:a f:b')
  assert.equal(reconcileFieldSetWithSchema(customSchema, free), free)
})

test('emptyObject has the structs and required lists that are always present', () => {
  assert.deepEqual(emptyObject(configMapSchema), { metadata: {} })
  assert.deepEqual(emptyObject(deploymentSchema), {
    metadata: {},
    spec: { template: { metadata: {}, spec: { containers: null } } },
    status: {},
  })
})

test('emptyObject terminates for recursive schemas', () => {
  const fields = new Map()
  const recursive: StructSchema = {
    type: 'struct',
    name: '',
    fields,
    atomic: false,
    preserveUnknownFields: false,
  }
  fields.set('self', { schema: recursive, required: false, default: {} })
  assert.ok('self' in emptyObject(recursive))
})
