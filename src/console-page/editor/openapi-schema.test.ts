import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldCompletions, OpenApiSchemas, valueCompletions, type OpenApiSchema } from './openapi-schema.ts'

const ref = (name: string): OpenApiSchema => ({ $ref: `#/components/schemas/io.k8s.api.core.v1.${name}` })

const gvk = { group: '', version: 'v1', kind: 'Pod' }
const schemas = new OpenApiSchemas({
  components: {
    schemas: {
      'io.k8s.api.core.v1.Pod': {
        'type': 'object',
        'properties': {
          kind: { type: 'string' },
          spec: { allOf: [ref('PodSpec')], description: 'Wanted state.' },
        },
        'x-kubernetes-group-version-kind': [gvk],
      },
      'io.k8s.api.core.v1.PodSpec': {
        type: 'object',
        description: 'PodSpec is a description of a pod.',
        required: ['containers'],
        properties: {
          containers: { type: 'array', items: { allOf: [ref('Container')] } },
          hostNetwork: { type: 'boolean' },
          nodeSelector: { type: 'object', additionalProperties: { type: 'string' } },
          restartPolicy: { type: 'string', enum: ['Always', 'Never', ''] },
          loop: ref('Loop'),
        },
      },
      'io.k8s.api.core.v1.Container': { type: 'object', properties: { image: { type: 'string' } } },
      'io.k8s.api.core.v1.Loop': ref('Loop'),
    },
  },
})
const pod = schemas.schemaOf(gvk)

function fieldsAt(path: readonly (string | number)[], present: readonly string[] = []): string[] {
  const schema = pod && schemas.schemaAt(pod, path)
  assert.ok(schema)
  return fieldCompletions(schemas, schema, new Set(present)).map(
    ({ label, type, isRequired, isNested }) =>
      `${label} ${type}${isRequired ? ' !' : ''}${isNested ? ' >' : ''}`,
  )
}

test('fieldCompletions lists the fields of a map with their types, without those present', () => {
  assert.deepEqual(fieldsAt([]), ['kind string', 'spec PodSpec >'])
  assert.deepEqual(fieldsAt(['spec'], ['loop', 'hostNetwork']), [
    'containers []Container ! >',
    'nodeSelector map[string]string >',
    'restartPolicy string',
  ])
  assert.deepEqual(fieldsAt(['spec', 'containers', 0]), ['image string'])
})

test('OpenApiSchemas resolves fields, prefers their own description, and ends at a reference to itself', () => {
  const at = (...path: (string | number)[]): OpenApiSchema | undefined => pod && schemas.schemaAt(pod, path)
  assert.equal(at('spec')?.description, 'Wanted state.')
  assert.equal(at('spec', 'nodeSelector', 'anything')?.type, 'string')
  assert.equal(at('spec', 'nothing'), undefined)
  assert.equal(at('spec', 'loop', 'a', 'b'), undefined)
  assert.equal(schemas.schemaOf({ ...gvk, kind: 'Node' }), undefined)
})

test('valueCompletions lists enums and booleans', () => {
  const at = (name: string): string[] =>
    valueCompletions((pod && schemas.schemaAt(pod, ['spec', name])) ?? {})
  assert.deepEqual(at('restartPolicy'), ['Always', 'Never'])
  assert.deepEqual(at('hostNetwork'), ['true', 'false'])
  assert.deepEqual(at('containers'), [])
})
