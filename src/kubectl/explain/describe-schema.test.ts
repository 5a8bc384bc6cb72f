import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { describeModel } from './describe-model.ts'
import { describeKind, describeSchema, kindOfResource } from './describe-schema.ts'

const kind = { group: 'example.com', version: 'v1', kind: 'Tree' }

const schemas: JsonObject = {
  'com.example.Tree': {
    'type': 'object',
    'description': 'A tree.',
    'x-kubernetes-group-version-kind': [kind],
    'required': ['name'],
    'properties': {
      name: { type: 'string', enum: ['a', 'b', '', 'd', 'e'] },
      left: { description: 'The left side.', allOf: [{ $ref: '#/components/schemas/com.example.Tree' }] },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      leaves: { type: 'array', items: { type: 'object', properties: { color: { type: 'string' } } } },
    },
  },
}

const paths: JsonObject = {
  '/apis/example.com/v1/namespaces/{namespace}/trees': { get: { 'x-kubernetes-group-version-kind': kind } },
}

const document: JsonObject = { paths, components: { schemas } }

function explain(path: string, recursive = false): string | undefined {
  return describeSchema(document, { kind, fields: path.split('.').filter(Boolean), recursive })
}

test('the kind of a resource comes from the paths of the document', () => {
  const resource = { group: 'example.com', version: 'v1', plural: 'trees' }
  assert.deepEqual(kindOfResource(document, resource), kind)
  assert.equal(kindOfResource(document, { ...resource, plural: 'bushes' }), undefined)
  assert.equal(describeKind(kind), 'GROUP:      example.com\nKIND:       Tree\nVERSION:    v1\n\n')
})

test('a kind is described with its fields', () => {
  const text = explain('')
  assert.match(text!, /^DESCRIPTION:\n {4}A tree\.\n {4}\nFIELDS:\n {2}labels\t<map\[string\]string>\n/)
  assert.match(
    text!,
    /\n {2}name\t<string> -required-\n {2}enum: a, b, "", d, \.\.\.\.\n {4}<no description>\n\n$/,
  )
})

test('a path leads through lists, maps and references', () => {
  assert.match(explain('leaves.color')!, /^FIELD: color <string>\n\n\nDESCRIPTION:\n {4}<empty>\n$/)
  assert.match(
    explain('left.left.left')!,
    /^FIELD: left <Tree>\n\n\nDESCRIPTION:\n {4}The left side\.\n {4}A tree\.\n/,
  )
  assert.equal(explain('left.nothing'), undefined)
  assert.equal(explain('name.more'), undefined)
})

test('a schema that contains itself is entered once more', () => {
  const lines = explain('', true)!.split('\n')
  assert.equal(lines.filter(line => line.includes('leaves\t<[]Object>')).length, 2)
  assert.equal(lines.filter(line => line.includes('color\t<string>')).length, 2)
})

test('an OpenAPI document of version 2 is described in the older format', () => {
  const swagger: JsonObject = {
    definitions: {
      'com.example.Tree': {
        'type': 'object',
        'description': 'A tree.',
        'x-kubernetes-group-version-kind': [kind],
        'required': ['name'],
        'properties': {
          name: { type: 'string', description: 'Its name.' },
          left: { $ref: '#/definitions/com.example.Tree' },
        },
      },
    },
  }
  const model = (path: string, recursive = false) =>
    describeModel(swagger, { kind, fields: path.split('.').filter(Boolean), recursive })
  const head = 'KIND:     Tree\nVERSION:  example.com/v1\n\n'
  assert.equal(
    model(''),
    `${head}DESCRIPTION:\n     A tree.\n\nFIELDS:\n   left\t<Object>\n\n` +
      '   name\t<string> -required-\n     Its name.\n\n',
  )
  assert.equal(model('left.name'), `${head}FIELD:    name <string>\n\nDESCRIPTION:\n     Its name.\n`)
  const fields = '   left\t<Object>\n      left\t<Object>\n      name\t<string>\n   name\t<string>\n'
  assert.ok(model('', true).endsWith(`FIELDS:\n${fields}`))
  assert.throws(() => model('nothing'), /field "nothing" does not exist/)
})
