import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../text/json-value.ts'
import { fieldSet, paths } from './field-set.ts'
import { decodeManagedFields, encodeManagedFields, identify, type ManagedEntry } from './managed-fields.ts'
import { printPath } from './path-element.ts'
import { managedFieldsFromScale, managedFieldsOfScale } from './scale.ts'

/** Entries in short notation: `Apply kubectl@apps/v1 .spec.replicas .spec.paused`. */
function entries(...texts: readonly string[]): JsonValue[] | undefined {
  return encodeManagedFields(
    new Map(
      texts.map(text => {
        const [operation, name = '', ...owned] = text.split(' ')
        const [identity = '', apiVersion = ''] = name.split('@')
        const [manager = '', subresource = ''] = identity.split('/')
        const fields = fieldSet(
          owned.map(path =>
            path
              .split('.')
              .slice(1)
              .map(step => `f:${step}`),
          ),
        )
        const entry: ManagedEntry = {
          operation: operation === 'Apply' ? 'Apply' : 'Update',
          manager,
          subresource,
          apiVersion,
          fields,
          time: undefined,
        }
        return [identify(entry), entry]
      }),
    ),
  )
}

function show(managedFields: JsonValue | undefined): string[] {
  return [...decodeManagedFields(managedFields).values()]
    .map(entry => {
      const { operation, manager, subresource, apiVersion, fields } = entry
      const owned = [...paths(fields)].map(printPath).join(' ')
      return `${operation} ${manager}${subresource === '' ? '' : `/${subresource}`}@${apiVersion} ${owned}`
    })
    .sort()
}

const replicasPaths = new Map([
  ['apps/v1', ['spec', 'replicas']],
  ['apps/v1beta1', undefined],
])
const owners = entries(
  'Apply kubectl@apps/v1 .spec.replicas .spec.paused',
  'Update editor@apps/v1 .spec.replicas',
  'Update other@apps/v1 .spec.paused',
  'Update ancient@extensions/v1 .spec.replicas',
)

test('managed fields of a scale show the owners of replicas', () => {
  assert.deepEqual(show(managedFieldsOfScale(owners, replicasPaths)), [
    'Apply kubectl@autoscaling/v1 .spec.replicas',
    'Update editor@autoscaling/v1 .spec.replicas',
  ])
  assert.equal(managedFieldsOfScale(undefined, replicasPaths), undefined)
})

test('a scale update takes over ownership of replicas', () => {
  const scaleManagedFields = entries('Update hpa/scale@autoscaling/v1 .spec.replicas')
  const write = { managedFields: owners, scaleManagedFields, replicasPaths, apiVersion: 'apps/v1' }
  assert.deepEqual(show(managedFieldsFromScale(write)), [
    'Apply kubectl@apps/v1 .spec.paused',
    'Update hpa/scale@apps/v1 .spec.replicas',
    'Update other@apps/v1 .spec.paused',
  ])
})

test('owners kept in the scale keep their entries', () => {
  const scaleManagedFields = managedFieldsOfScale(owners, replicasPaths)
  const write = { managedFields: owners, scaleManagedFields, replicasPaths, apiVersion: 'apps/v1' }
  assert.deepEqual(show(managedFieldsFromScale(write)), [
    'Apply kubectl@apps/v1 .spec.paused .spec.replicas',
    'Update editor@apps/v1 .spec.replicas',
    'Update other@apps/v1 .spec.paused',
  ])
})
