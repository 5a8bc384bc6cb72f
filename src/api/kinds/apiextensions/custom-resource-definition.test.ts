import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { customResourceDefinitionRules } from './custom-resource-definition.ts'

const { check, checkUpdate, checkStatus, withDefaults } = underTest(customResourceDefinitionRules)

const names = { plural: 'foos', kind: 'Foo' }

function versionWith(schema: object, change: object = {}): object {
  return { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...change }
}

function definition(
  spec: object,
  name = 'foos.example.com',
): { readonly metadata: object; readonly spec: object } {
  const versions = [versionWith({ type: 'object' })]
  return { metadata: { name }, spec: { group: 'example.com', scope: 'Namespaced', names, versions, ...spec } }
}

function withVersion(change: object): object {
  return definition({ versions: [versionWith({ type: 'object' }, change)] })
}

test('a CRD defaults singular, list kind and conversion strategy', () => {
  const conversion = { strategy: 'None' }
  const status = { storedVersions: ['v1'] }
  assert.deepEqual(withDefaults(definition({})), {
    ...definition({ names: { ...names, singular: 'foo', listKind: 'FooList' }, conversion }),
    status,
  })
  const service = { namespace: 'a', name: 'b' }
  const webhook = (given: object) => ({
    strategy: 'Webhook',
    webhook: { clientConfig: { service: given }, conversionReviewVersions: ['v1'] },
  })
  assert.deepEqual(withDefaults(definition({ conversion: webhook(service) })), {
    ...definition({
      names: { ...names, singular: 'foo', listKind: 'FooList' },
      conversion: webhook({ ...service, port: 443 }),
    }),
    status,
  })
})

test('status.storedVersions of a CRD records the storage version', () => {
  const created = customResourceDefinitionRules.prepareForCreate?.(definition({}) as never)
  assert.deepEqual((created as { status?: object }).status, {
    acceptedNames: { kind: '', plural: '' },

    storedVersions: ['v1'],
  })
  const next = { ...definition({ versions: [versionWith({ type: 'object' }, { name: 'v2' })] }) }
  const stored = { ...next, status: { storedVersions: ['v1'] } }
  const updated = customResourceDefinitionRules.prepareForUpdate?.(stored as never, stored as never)
  assert.deepEqual((updated as { status?: object }).status, { storedVersions: ['v1', 'v2'] })
  checkUpdate(
    stored,
    stored,
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was prev',
  )
})

test('the name of a CRD must be plural.group', () => {
  check(definition({}))
  const detail = 'must be spec.names.plural+"."+spec.group'
  check(
    { ...definition({}), metadata: { name: 'foos-1', generateName: 'foos-' } },
    `metadata.generateName: Invalid value: "foos-": ${detail}`,
    `metadata.name: Invalid value: "foos-1": ${detail}`,
  )
  check(
    definition({}, 'foo.example.com'),
    'metadata.name: Invalid value: "foo.example.com": must be spec.names.plural+"."+spec.group',
  )
  check(
    definition({ group: 'local' }, 'foos.local'),
    'spec.group: Invalid value: "local": should be a domain with at least one dot',
  )
  check(
    {},
    'spec.group: Required value',
    'spec.scope: Required value',
    'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
    'spec.names.plural: Required value',
    'spec.names.singular: Required value',
    'spec.names.kind: Required value',
    'spec.names.listKind: Required value',
    'status.storedVersions: Invalid value: null: must have at least one stored version',
  )
  check(
    definition({ scope: 'World' }),
    'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
  )
})

test('validation of CRD names', () => {
  const named = (change: object) => definition({ names: { ...names, ...change } })
  check(
    named({ kind: 'F_oo' }),
    'spec.names.singular: Invalid value: "f_oo"',
    'spec.names.kind: Invalid value: "F_oo": may have mixed case, but',
    'spec.names.listKind: Invalid value: "F_ooList": may have mixed case, but should otherwise match: ',
  )
  check(
    named({ listKind: 'Foo' }),
    'spec.names.listKind: Invalid value: "Foo": kind and listKind may not be the same',
  )
  check(
    named({ shortNames: ['F'], categories: ['all', ''] }),
    'spec.names.shortNames[0]: Invalid value: "F"',
    'spec.names.categories[1]: Invalid value: ""',
  )
})

test('a CRD in a *.k8s.io group requires the api-approved annotation', () => {
  const community = (annotations?: object) => {
    const { spec } = definition({ group: 'x.k8s.io' })
    return { metadata: { name: 'foos.x.k8s.io', ...(annotations && { annotations }) }, spec }
  }
  const key = 'api-approved.kubernetes.io'
  check(
    community(),
    `metadata.annotations[${key}]: Required value: protected groups must have approval annotation`,
  )
  check(
    community({ [key]: 'maybe' }),
    `metadata.annotations[${key}]: Invalid value: "maybe": protected groups must`,
  )
  check(community({ [key]: 'unapproved, an experiment' }))
  check(community({ [key]: 'https://github.com/kubernetes/kubernetes/pull/1' }))
})

test('a CRD requires exactly one storage version and a schema per version', () => {
  const two = (first: object, second: object) =>
    definition({
      versions: [versionWith({ type: 'object' }, first), versionWith({ type: 'object' }, second)],
    })
  check(two({}, { name: 'v2', storage: false }))
  check(
    two({}, { name: 'v2' }),
    'spec.versions: Invalid value: [',
    'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
  )
  check(two({}, { storage: false }), 'spec.versions: Invalid value: [')
  check(
    withVersion({ name: '1' }),
    'spec.versions[0].name: Invalid value: "1": a DNS-1035 label must consist of',
    'spec.version: Invalid value: "1": a DNS-1035 label must consist of',
  )
  check(withVersion({ schema: {} }), 'spec.versions[0].schema.openAPIV3Schema: Required value')
  check(
    withVersion({ deprecationWarning: 'old' }),
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  )
  check(
    withVersion({ deprecated: true, deprecationWarning: 'a\u0007' }),
    'spec.versions[0].deprecationWarning: Invalid value: "a\\a": must only contain printable UTF-8 characters; non-pr',
  )
})

test('selectable fields and defaults of a CRD need a schema that is used', () => {
  const selectableFields = [{ jsonPath: '.spec.a' }]
  check(
    withVersion({ schema: {}, selectableFields }),
    'spec.versions[0].schema.openAPIV3Schema: Required value',
    'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included',
  )
  const defaulted = { type: 'object', properties: { a: { type: 'string', default: 'x' } } }
  check(
    definition({ versions: [versionWith(defaulted)], preserveUnknownFields: true }),
    'spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema',
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true',
  )
  const twice = [versionWith({ type: 'object' }), versionWith(defaulted)]
  check(
    definition({ versions: twice }),
    'spec.versions: Invalid value: [',
    'spec.versions: Invalid value: [',
    'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1',
  )
})

test('schema errors of a CRD with one version are reported at spec.validation', () => {
  const bad = { type: 'object', properties: { a: {} } }
  const versions = [versionWith(bad), versionWith({ type: 'object' }, { name: 'v2', storage: false })]
  const error = 'properties[a].type: Required value: must not be empty for specified object fields'
  check(definition({ versions: [versionWith(bad)] }), `spec.validation.openAPIV3Schema.${error}`)
  check(definition({ versions }), `spec.versions[0].schema.openAPIV3Schema.${error}`)
})

test('validation of CRD scale subresource and printer columns', () => {
  const scale = (paths: object) => withVersion({ subresources: { scale: paths } })
  const field = 'spec.subresources.scale'
  check(scale({ specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }))
  check(scale({}), `${field}.specReplicasPath: Required value`, `${field}.statusReplicasPath: Required value`)
  check(
    scale({ specReplicasPath: 'x', statusReplicasPath: '.spec.x', labelSelectorPath: '.x' }),
    `${field}.specReplicasPath: Invalid value: "x": must be a simple json path starting with .`,
    `${field}.statusReplicasPath: Invalid value: ".spec.x": should be a json path under .status`,
    `${field}.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status`,
  )
  const column = 'spec.additionalPrinterColumns[0]'
  check(withVersion({ additionalPrinterColumns: [{ name: 'a', type: 'date', jsonPath: '.x' }] }))
  check(
    withVersion({ additionalPrinterColumns: [{}] }),
    `${column}.name: Required value`,
    `${column}.type: Required value: must be one of boolean,date,integer,number,string`,
    `${column}.JSONPath: Required value`,
  )
  check(
    withVersion({ additionalPrinterColumns: [{ name: 'a', type: 'x', format: 'y', jsonPath: 'z' }] }),
    `${column}.type: Invalid value: "x": must be one of boolean,date,integer,number,string`,
    `${column}.format: Invalid value: "y": must be one of byte,date,date-time,double,float,int32,int64,password`,
    `${column}.JSONPath: Invalid value: "z": must be a simple json path starting with .`,
  )
})

test('selectableFields of a CRD must be scalars in the schema', () => {
  const property = {
    type: 'object',
    properties: {
      color: { type: 'string' },
      parts: {
        type: 'array',
        items: {
          type: 'string',
        },
      },
    },
  }
  const metadata = { type: 'object', properties: { name: { type: 'string' } } }
  const select = (...paths: readonly string[]) =>
    definition({
      versions: [
        versionWith(
          { type: 'object', properties: { spec: property, metadata } },
          { selectableFields: paths.map(jsonPath => ({ jsonPath })) },
        ),
      ],
    })
  const field = 'spec.selectableFields'
  check(select('.spec.color'))
  check(
    select('.spec.color', '.spec.color', ''),
    `${field}[1].jsonPath: Duplicate value: ".spec.color"`,
    `${field}[2].jsonPath: Required value`,
  )
  check(
    select('.spec.size', 'spec', '.spec.parts', ".spec['color']", '.metadata.name'),
    `${field}[0].jsonPath: Invalid value: ".spec.size": is an invalid path: does not refer to a valid field`,
    `${field}[1].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec`,
    `${field}[2].jsonPath: Invalid value: ".spec.parts": must point to a field of type string, boolean or integer.`,
    `${field}[3].jsonPath: Invalid value: ".spec['color']": is an invalid path: array notation is not allowed`,
    `${field}[4].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata`,
  )
})

test('validation of CRD conversion', () => {
  const converted = (conversion: object) => definition({ conversion })
  const field = 'spec.conversion'
  const clientConfig = { url: 'https://example.com' }
  check(converted({ strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }))
  check(converted({}), `${field}.strategy: Required value`)
  check(
    converted({ strategy: 'x' }),
    `${field}.strategy: Unsupported value: "x": supported values: "None", "Webhook"`,
  )
  check(
    converted({ strategy: 'None', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }),
    `${field}.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook`,
    `${field}.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook`,
  )
  check(
    converted({ strategy: 'Webhook' }),
    `${field}.webhookClientConfig: Required value: required when strategy is set to Webhook`,
    `${field}.conversionReviewVersions: Required value`,
  )
  check(
    converted({ strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v3'] } }),
    `${field}.conversionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, v1beta1`,
  )
})

test('immutable fields of a CRD', () => {
  const old = { ...definition({}), status: { storedVersions: ['v1'] } }
  const served = {
    ...old,
    status: { ...old.status, conditions: [{ type: 'Established', status: 'True' }] },
  }
  const after = (status: object, spec: object) => ({ ...definition(spec), status })
  checkUpdate(after(old.status, { scope: 'Cluster', names: { ...names, kind: 'Bar' } }), old)
  checkUpdate(
    after(served.status, { scope: 'Cluster', names: { ...names, kind: 'Bar' } }),
    served,
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Bar": field is immutable',
  )
  checkUpdate(
    after(old.status, { preserveUnknownFields: true }),
    old,
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields',
  )
  checkStatus(
    after({ acceptedNames: { plural: 'A' } }, {}),
    old,
    'status.acceptedNames.plural: Invalid value: "A"',
  )
})

test('a CRD warns about unrecognized formats', () => {
  const formatted = (...formats: readonly string[]) =>
    definition({
      versions: [
        versionWith({
          type: 'object',
          properties: Object.fromEntries(formats.map(format => [format, { type: 'string', format }])),
        }),
      ],
    }) as never
  const { warnings } = customResourceDefinitionRules
  assert.deepEqual(warnings?.(formatted('date-time', 'colour'), undefined), ['unrecognized format "colour"'])
  assert.deepEqual(warnings?.(formatted('colour', 'sound'), formatted('colour')), [
    'unrecognized format "sound"',
  ])
})
