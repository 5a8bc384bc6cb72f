import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources } from '../builtin.ts'
import type { FieldError } from '../field-error.ts'
import type { KindRules } from '../kind-rules.ts'
import type { KubernetesObject } from '../metadata.ts'
import type { Schema, StructSchema } from '../schema.ts'
import type { JsonObject } from '../text/json-object.ts'
import { rulesOf } from './rules.ts'

/** Fields that need others to be validated, with those beside them. */
const siblings: Readonly<Record<string, JsonObject>> = {
  'core.v1.HostPathVolumeSource.type': { path: '/a' },
  'core.v1.Taint.effect': { key: 'a' },
}

/** Values that OpenAPI lists and validation refuses. */
const refusedValues: Readonly<Record<string, readonly string[]>> = {
  'admissionregistration.v1.MutatingWebhook.sideEffects': ['Some', 'Unknown'],
  'admissionregistration.v1.ValidatingWebhook.sideEffects': ['Some', 'Unknown'],
  'core.v1.ServiceSpec.ipFamilies': [''],
  // Behind the feature gate TaintTolerationComparisonOperators.
  'core.v1.Toleration.operator': ['Gt', 'Lt'],
  'storage.v1.StorageClass.reclaimPolicy': ['Recycle'],
}

const unchecked: ReadonlySet<string> = new Set([
  // Status that is not validated.
  'core.v1.ContainerStatus.stopSignal',
  'core.v1.ModifyVolumeStatus.status',
  'core.v1.NodeStatus.phase',
  'core.v1.PersistentVolumeClaimStatus.accessModes',
  'core.v1.PersistentVolumeClaimStatus.phase',
  'core.v1.PersistentVolumeStatus.phase',
  'core.v1.PodStatus.phase',
  'core.v1.PodStatus.qosClass',
  'core.v1.PortStatus.protocol',
  'networking.v1.IngressPortStatus.protocol',
  // Dropped unless the feature gate ContainerStopSignals is on.
  'core.v1.Lifecycle.stopSignal',
  // The error names the key of the map instead of the value.
  'core.v1.PersistentVolumeClaimStatus.allocatedResourceStatuses',
  // Validated only if the claim is allocated completely.
  'resource.v1.DeviceAllocationConfiguration.source',
  // An alpha kind without validation.
  'resource.v1beta2.DeviceTaint.effect',
])

test('validation accepts the values of an enumeration in OpenAPI and refuses others', () => {
  const found = leaves().filter(({ schema }) => schema.type === 'string' && schema.enum)
  assert.ok(found.length > 90)
  for (const { name, rules, schema, wrap } of found) {
    const values = schema.type === 'string' ? (schema.enum ?? []) : []
    const errorsWith = (value: string): readonly string[] =>
      errorsOf(rules, objectOf(wrap(value)))
        .filter(error => JSON.stringify(error.value ?? null).includes(JSON.stringify(value)))
        .map(({ reason }) => reason)
    const isRefused = errorsWith('Other').some(reason => reason !== 'FieldValueForbidden')
    assert.equal(isRefused, !unchecked.has(name), `${name}: Other`)
    // A known value may be invalid beside the other fields.
    const refused = values.filter(value => errorsWith(value).includes('FieldValueNotSupported'))
    assert.deepEqual(refused, refusedValues[name] ?? [], name)
  }
})

test('defaulting sets the defaults in OpenAPI', () => {
  const found = leaves().filter(leaf => leaf.schema.type !== 'struct' && leaf.default !== undefined)
  assert.ok(found.length > 15)
  for (const { name, rules, wrap, default: expected } of found) {
    const object = objectOf(wrap(undefined))
    const given = valueIn(rules.withDefaults?.(object) ?? object, wrap)
    // Zero values may be absent.
    assert.equal(given ?? zeros[typeof expected], expected, name)
  }
})

const zeros: Readonly<Record<string, unknown>> = { string: '', number: 0, boolean: false }

/** The value at the place where `wrap` puts it. */
function valueIn(object: unknown, wrap: Wrap): unknown {
  let found: unknown
  const walk = (pattern: unknown, value: unknown): void => {
    if (pattern === place) found = value
    if (typeof pattern !== 'object' || pattern === null) return
    for (const [key, each] of Object.entries(pattern)) walk(each, (value as JsonObject | undefined)?.[key])
  }
  walk(wrap(place), object)
  return found
}

const place = Symbol('place')

function errorsOf(rules: KindRules, object: KubernetesObject): readonly FieldError[] {
  const filled = rules.withDefaults?.(object) ?? object
  return [...(rules.validate?.(filled) ?? []), ...(rules.validateStatusUpdate?.(filled, filled) ?? [])]
}

type Wrap = (value: unknown) => unknown

interface Leaf<T extends Schema = Schema> {
  readonly schema: T
  readonly wrap: Wrap
}

interface Place extends Leaf {
  /** `core.v1.PodSpec.restartPolicy`. */
  readonly name: string
  readonly rules: KindRules
  readonly default: unknown
}

/** Every field of the stored kinds, in the kind in which it is nearest to the root. */
function leaves(): readonly Place[] {
  const found = new Map<string, Place>()
  for (const { group, kind, schema, storage, version } of builtinResources()) {
    const rules = rulesOf(group, kind) as unknown as KindRules | undefined
    if (!rules || storage.version !== version) continue
    for (const leaf of leavesOf(schema, rules)) found.getOrInsert(leaf.name, leaf)
  }
  return [...found.values()]
}

function leavesOf(root: StructSchema, rules: KindRules): readonly Place[] {
  const waiting: Leaf<StructSchema>[] = [{ schema: root, wrap: value => value }]
  const seen = new Set<string>()
  const found: Place[] = []
  for (const { schema, wrap } of waiting) {
    if (seen.has(schema.name)) continue
    seen.add(schema.name)
    for (const [field, { schema: type, default: fallback }] of schema.fields) {
      const name = `${schema.name.split('.').slice(-3).join('.')}.${field}`
      const leaf = leafOf(type, value => wrap({ ...siblings[name], [field]: value }))
      found.push({ ...leaf, name, rules, default: fallback })
      if (leaf.schema.type === 'struct') waiting.push({ ...leaf, schema: leaf.schema })
    }
  }
  return found
}

function leafOf(schema: Schema, wrap: Wrap): Leaf {
  if (schema.type === 'list') return leafOf(schema.items, value => wrap([value]))
  if (schema.type === 'map') return leafOf(schema.values, value => wrap({ storage: value }))
  return { schema, wrap }
}

/** Without absent fields. */
function objectOf(fields: unknown): KubernetesObject {
  return { metadata: {}, ...(JSON.parse(JSON.stringify(fields)) as object) }
}
