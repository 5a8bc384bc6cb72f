import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'
import {
  defineCustomResource,
  type CustomResourceDefinition,
  type Infer,
  type InferDefaulted,
} from './custom-resource.ts'
import * as s from './schema.ts'

/** Uses every word of the vocabulary. */
const ovens = defineCustomResource({
  group: 'bakery.example.com',
  names: { kind: 'Oven', plural: 'ovens', shortNames: ['ov'], categories: ['kitchen'] },
  scope: 'Namespaced',
  versions: {
    v1: {
      storage: true,
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.trays', statusReplicasPath: '.status.trays' },
      },
      additionalPrinterColumns: [{ name: 'Trays', type: 'integer', jsonPath: '.spec.trays' }],
      selectableFields: ['.spec.mode'],
      schema: s.object(
        {
          spec: s.object(
            {
              trays: s.integer({ minimum: 1, maximum: 100, default: 1, description: 'Number of trays.' }),
              mode: s.string({ enum: ['Gas', 'Electric'], default: 'Electric' }),
              serial: s.optional(s.integer({ format: 'int64' })),
              ratio: s.optional(s.number({ minimum: 0, exclusiveMinimum: true })),
              isOpen: s.optional(s.boolean({ nullable: true })),
              power: s.optional(s.quantity()),
              port: s.intOrString(),
              timers: s.optional(
                s.array(
                  s.object({ name: s.string({ maxLength: 20 }), minutes: s.integer({ default: 10 }) }),
                  { listType: 'map', listMapKeys: ['name'], maxItems: 5 },
                ),
              ),
              limits: s.map(s.quantity(), { default: {}, mapType: 'atomic' }),
              template: s.optional(s.embeddedResource()),
              recipe: s.optional(s.any()),
              options: s.optional(s.object({ color: s.string() }, { preserveUnknownFields: true })),
            },
            {
              validations: [
                { rule: "self.mode != 'Gas' || self.trays <= 10", message: 'gas ovens have up to 10 trays' },
                { rule: 'self.trays >= oldSelf.trays', message: 'trays cannot be removed' },
              ],
            },
          ),
          status: s.optional(
            s.object({ trays: s.optional(s.integer()), conditions: s.optional(s.conditions()) }),
          ),
        },
        { description: 'An oven of the bakery.' },
      ),
    },
    v1beta1: {
      deprecated: true,
      deprecationWarning: 'use v1',
      schema: s.object({ spec: s.object({ port: s.intOrString(), trays: s.optional(s.integer()) }) }),
    },
  },
})

type Oven = Infer<typeof ovens>
type DefaultedOven = InferDefaulted<typeof ovens>

const at = { namespace: 'default', name: 'first' }

test('only fields without a default must be written', () => {
  const small: Oven = { metadata: at, spec: { port: 80 } }
  const defaulted: DefaultedOven = ovens.withDefaults(small)
  assert.deepEqual(defaulted.spec, { port: 80, trays: 1, mode: 'Electric', limits: {} })
  assert.equal(ovens.withDefaults(defaulted), defaulted)
  const full: Oven = {
    apiVersion: 'bakery.example.com/v1',
    kind: 'Oven',
    metadata: at,
    spec: {
      port: 'http',
      serial: 2n ** 60n,
      isOpen: null,
      timers: [{ name: 'a' }],
      limits: { cpu: '1', memory: 2 },
      template: { apiVersion: 'v1', kind: 'Pod', spec: {} },
      options: { color: 'red', other: 1 },
    },
  }
  assert.deepEqual(ovens.withDefaults(full).spec.timers, [{ name: 'a', minutes: 10 }])
  const old: Infer<typeof ovens.versions.v1beta1> = { metadata: at, spec: { port: 1 } }
  assert.equal(ovens.versions.v1beta1.withDefaults(old), old)
})

test('types reject values and options that the schema does not have', () => {
  // @ts-expect-error a required field is missing
  const withoutPort: Oven = { metadata: at, spec: {} }
  // @ts-expect-error not in the enum
  const steam: Oven = { metadata: at, spec: { port: 1, mode: 'Steam' } }
  // @ts-expect-error not nullable
  const nothing: Oven = { metadata: at, spec: { port: null } }
  // @ts-expect-error the version of another apiVersion
  const old: Oven = { apiVersion: 'bakery.example.com/v1beta1', metadata: at, spec: { port: 1 } }
  // @ts-expect-error a field with a default is present after defaulting
  const missing: DefaultedOven = { metadata: at, spec: { port: 1, mode: 'Gas', limits: {} } }
  const misspelt = [
    // @ts-expect-error no such option
    s.string({ minLenght: 1 }),
    // @ts-expect-error not a field of the items
    s.array(s.object({ name: s.string() }), { listType: 'map', listMapKeys: ['id'] }),
    // @ts-expect-error the default has another type
    s.object({ name: s.string() }, { default: { id: 1 } }),
  ]
  assert.equal([withoutPort, steam, nothing, old, missing, ...misspelt].length, 8)
})

test('the storage version is chosen, and must be unique', () => {
  assert.equal(ovens.version, 'v1')
  assert.deepEqual(ovens.storage, { group: 'bakery.example.com', version: 'v1' })
  assert.deepEqual(ovens.versions.v1beta1.storage, ovens.storage)
  assert.deepEqual([...ovens.subresources.keys()], ['status', 'scale'])
  const schema = s.object({})
  const names = { kind: 'A', plural: 'as' }
  const define = (versions: Parameters<typeof defineCustomResource>[0]['versions']) =>
    defineCustomResource({ group: 'example.com', names, scope: 'Cluster', versions })
  assert.equal(define({ v1: { schema } }).definition.spec.versions[0]?.storage, true)
  const message = { name: 'TypeError', message: 'A: exactly one version must have storage: true' }
  assert.throws(() => define({ v1: { schema }, v2: { schema } }), message)
  assert.throws(() => define({}), message)
})

test('the API server serves a defined resource with its types, defaults and rules', async () => {
  await using cluster = await Cluster.start()
  const { client } = cluster
  await client.create(customResourceDefinitions, ovens.definition)
  await cluster.settle()
  const definition = await client.get(customResourceDefinitions, { name: 'ovens.bakery.example.com' })
  assert.deepEqual(trueConditions(definition), ['Established', 'NamesAccepted'])

  await client.create(ovens, { metadata: at, spec: { port: 'http', power: '1.5k', isOpen: null } })
  const oven = ovens.withDefaults(await client.get(ovens, at))
  const mode: 'Gas' | 'Electric' = oven.spec.mode
  const trays: number = oven.spec.trays
  assert.deepEqual([oven.kind, mode, trays, oven.spec.isOpen], ['Oven', 'Electric', 1, null])

  const rejects = (spec: Oven['spec'], message: RegExp) =>
    assert.rejects(client.create(ovens, { metadata: { ...at, name: 'other' }, spec }), error => {
      return isApiError(error, 'Invalid') && message.test(error.message)
    })
  await rejects({ port: 1, trays: 11, mode: 'Gas' }, /gas ovens have up to 10 trays/)
  await rejects({ port: 1, power: 'lots' }, /spec\.power in body should match/)
  await rejects({ port: 1, trays: 2 ** 40 }, /int32/)

  await client.updateStatus(ovens, { ...oven, status: { trays: 1 } })
  const scale = { metadata: at, spec: { replicas: 3 } }
  await client.updateSubresource(ovens, { ...at, subresource: 'scale' }, scale)
  const old = await client.get(ovens.versions.v1beta1, at)
  assert.equal(old.apiVersion, 'bakery.example.com/v1beta1')
  assert.equal(old.spec.trays, 3)
  const { items } = await client.list(ovens, { fieldSelector: 'spec.mode=Gas' })
  assert.equal(items.length, 0)
})

function trueConditions({ status }: CustomResourceDefinition): string[] {
  const all = status?.conditions ?? []
  return all
    .filter(each => each.status === 'True')
    .map(each => each.type)
    .sort()
}
