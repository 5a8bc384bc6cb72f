import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { openApiPart, withFreeNames, type OpenApiPart } from './extension-parts.ts'

const reference = (section: string, name: string): { $ref: string } => ({ $ref: `#/${section}/${name}` })

const prefix = '/apis/wardle.example.com/v1alpha1/'

function document(definitions: Record<string, JsonValue>): JsonValue {
  return {
    paths: {
      [`${prefix}flunders`]: {
        get: { responses: { 200: { description: 'OK', schema: reference('definitions', 'Flunder') } } },
        parameters: [reference('parameters', 'pretty')],
      },
      '/apis/apps/v1/deployments': { get: { responses: {} } },
    },
    parameters: {
      pretty: { name: 'pretty', in: 'query', type: 'string' },
      unused: { name: 'unused', in: 'query' },
    },
    definitions,
  }
}

const flunder = { type: 'object', properties: { metadata: reference('definitions', 'Meta') } }
const meta = { type: 'object', description: 'metadata' }

test('a part has the paths of the group version and all that they refer to', () => {
  const part = openApiPart(document({ Flunder: flunder, Meta: meta, Unused: {} }), prefix)
  assert.deepEqual(Object.keys(part?.paths ?? {}), [`${prefix}flunders`])
  assert.deepEqual(part?.definitions, { Flunder: flunder, Meta: meta })
  assert.deepEqual(Object.keys(part?.parameters ?? {}), ['pretty'])
})

test('a definition may have any name and refer to itself', () => {
  const text = JSON.stringify(
    document({ Flunder: { properties: { next: reference('definitions', 'Loop') } } }),
  )
  const definitions = `"definitions":{"__proto__":{"properties":{"next":{"$ref":"#/definitions/__proto__"}}},`
  const renamed = text
    .replace('"definitions":{', definitions)
    .replace('#/definitions/Loop', '#/definitions/__proto__')
  const part = openApiPart(parseJson(Buffer.from(renamed)), prefix)
  assert.deepEqual(Object.keys(part?.definitions ?? {}), ['Flunder', '__proto__'])
})

test('malformed OpenAPI documents have no part', () => {
  const documents: readonly JsonValue[] = [
    null,
    'x',
    [],
    {},
    { paths: 'x' },
    { paths: { '/apis/apps/v1/x': {} } },
    { paths: { [`${prefix}x`]: null } },
    document({ Flunder: null }),
    document({}),
    document({ Flunder: flunder }),
  ]
  for (const each of documents) assert.equal(openApiPart(each, prefix), undefined, JSON.stringify(each))
})

test('definitions that differ from existing ones are renamed, with those that refer to them', () => {
  const fitted = (own: Record<string, JsonValue>): OpenApiPart => {
    const part = openApiPart(document({ Flunder: flunder, Meta: meta }), prefix)
    assert.ok(part)
    return withFreeNames(part, (section, name) => (section === 'definitions' ? own[name] : undefined))
  }
  const schemaIn = ({ paths }: OpenApiPart): unknown => {
    const path = paths[`${prefix}flunders`] as Record<'get', Record<'responses', Record<200, object>>>
    return path.get.responses[200]
  }
  const kinds = { 'x-kubernetes-group-version-kind': [{ kind: 'Meta' }] }
  const shared = fitted({ Meta: { ...meta, ...kinds } })
  assert.deepEqual(shared.definitions, { Flunder: flunder, Meta: meta })
  const differing = fitted({ Meta: { type: 'string' }, Meta_v2: {}, Flunder: flunder })
  assert.deepEqual(differing.definitions, {
    Meta_v3: meta,
    Flunder_v2: { type: 'object', properties: { metadata: reference('definitions', 'Meta_v3') } },
  })
  assert.deepEqual(schemaIn(differing), { description: 'OK', schema: reference('definitions', 'Flunder_v2') })
  assert.deepEqual(Object.keys(differing.paths), [`${prefix}flunders`])
})
