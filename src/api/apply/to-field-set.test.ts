import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { paths } from './field-set.ts'
import { toFieldSet } from './to-field-set.ts'
import { printPath } from './path-element.ts'
import { TypedValueError } from './structure.ts'
import { customSchema, deploymentSchema } from './testdata/schemas.ts'

function check(schema: Schema, value: JsonValue, expected: string): void {
  const fields = [...paths(toFieldSet(schema, deepFreeze(value)))].map(printPath)
  assert.deepEqual(fields, expected === '' ? [] : expected.split(' '))
}

test('toFieldSet contains leaves and items, structs only through leaves', () => {
  check(deploymentSchema, { spec: { replicas: 1, paused: false } }, '.spec.paused .spec.replicas')
  check(deploymentSchema, { metadata: { labels: { a: '1' } } }, '.metadata.labels.a')
  check(
    deploymentSchema,
    { metadata: { finalizers: ['b', 'a'] } },
    '.metadata.finalizers[="a"] .metadata.finalizers[="b"]',
  )
  check(
    deploymentSchema,
    { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    '.status.conditions[type="Ready"] .status.conditions[type="Ready"].status ' +
      '.status.conditions[type="Ready"].type',
  )
})

test('toFieldSet treats atomic values as leaves', () => {
  check(deploymentSchema, { spec: { selector: { matchLabels: { a: '1' } } } }, '.spec.selector')
  check(
    deploymentSchema,
    { spec: { template: { spec: { nodeSelector: { a: '1' } } } } },
    '.spec.template.spec.nodeSelector',
  )
})

test('toFieldSet contains empty values except empty lists', () => {
  check(deploymentSchema, { spec: {} }, '.spec')
  check(deploymentSchema, { spec: null }, '.spec')
  check(
    deploymentSchema,
    { metadata: { labels: {}, annotations: null } },
    '.metadata.annotations .metadata.labels',
  )
  check(deploymentSchema, { metadata: { finalizers: [] } }, '')
  check(deploymentSchema, { metadata: { finalizers: null } }, '.metadata.finalizers')
})

test('omitted key fields have their default', () => {
  const ports: JsonValue[] = [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }]
  const container = { name: 'web', ports }
  const prefix = '.spec.template.spec.containers[name="web"]'
  const [tcp, udp] = ['TCP', 'UDP'].map(
    protocol => `${prefix}.ports[containerPort=80,protocol="${protocol}"]`,
  )
  check(
    deploymentSchema,
    { spec: { template: { spec: { containers: [container] } } } },
    `${prefix} ${prefix}.name ${tcp} ${udp} ${tcp}.containerPort ${udp}.containerPort ${udp}.protocol`,
  )
})

test('items with equal keys are owned together', () => {
  const conditions: JsonValue[] = [{ type: 'Ready', status: 'True' }, { type: 'Ready' }, { type: 'Ready' }]
  check(deploymentSchema, { status: { conditions } }, '.status.conditions[type="Ready"]')
})

test('fields without schema are granular maps and atomic lists', () => {
  check(
    customSchema,
    { spec: { known: 'a', other: { list: [{ a: 1 }], map: { x: 1 } } } },
    '.spec.known .spec.other .spec.other.list .spec.other.map .spec.other.map.x',
  )
  check(customSchema, { anything: { a: { b: 1 } }, raw: { a: { b: 1 } } }, '.raw .anything.a .anything.a.b')
  check(customSchema, { anything: [1] }, '.anything')
})

test('toFieldSet throws for values that do not match the schema', () => {
  const check = (value: JsonValue, message: RegExp) =>
    assert.throws(
      () => toFieldSet(deploymentSchema, value),
      error => {
        return error instanceof TypedValueError && message.test(error.message)
      },
    )
  check(
    { metadata: { finalizers: [{}] } },
    /element 0: associative list without keys has an element that's a map type$/,
  )
  check({ metadata: { finalizers: ['a', null] } }, /element 1: .* an explicit null$/)
  check({ metadata: { finalizers: [[]] } }, /lists as elements$/)
  check(
    { status: { conditions: [{ status: 'x' }] } },
    /omits all key fields \["type"\] \(and doesn't have default values/,
  )
  check({ status: { conditions: [null] } }, /may not have a null element$/)
  check({ status: { conditions: ['a'] } }, /may not have non-map elements$/)
  check({ status: { conditions: [{ type: {} }] } }, /key field type must be a scalar$/)
})
