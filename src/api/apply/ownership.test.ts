import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isApiError } from '../errors.ts'
import { equalJson, type JsonValue } from '../text/json-value.ts'
import { compareValues, isSame } from './compare-values.ts'
import {
  difference,
  equals,
  fieldSet,
  intersection,
  isEmpty,
  paths,
  union,
  type FieldSet,
} from './field-set.ts'
import { toFieldSet } from './to-field-set.ts'
import { managedFieldsOf } from './managed-fields.ts'
import { mergeValues } from './merge-values.ts'
import { extractItems, removeItems } from './select-items.ts'
import { asMap, type JsonObject } from './structure.ts'
import { History } from './testdata/history.ts'
import { deploymentSchema } from './testdata/schemas.ts'

const deployments = { schema: deploymentSchema, apiVersion: 'apps/v1', kind: 'Deployment' }

/** Configurations in which labels, finalizers, containers and conditions are named by these letters only. */
function configurations(letters: readonly string[], owner = ''): fc.Arbitrary<JsonObject> {
  const name = fc.constantFrom(...letters)
  const value = fc.constantFrom('1', '2', '3')
  const labels = fc.dictionary(name, value, { minKeys: 1, noNullPrototype: true })
  const keyed = (item: fc.Arbitrary<JsonObject>, key: string) => {
    return fc.uniqueArray(item, { selector: each => each[key], minLength: 1, maxLength: 3 })
  }
  const port = fc.tuple(fc.constantFrom(80, 443), value)
  const ports = keyed(
    port.map(([containerPort, name]) => ({ containerPort, name })),
    'containerPort',
  )
  const container = some({ image: value, args: fc.array(value, { maxLength: 2 }), ports }).chain(rest => {
    return name.map((each): JsonObject => ({ name: each, ...rest }))
  })
  const own: Record<string, fc.Arbitrary<JsonValue>> = owner === 'b'
    ? {}
    : {
        replicas: fc.nat(3),
        selector: labels.map(matchLabels => ({ matchLabels })),
      }
  const containers = keyed(container, 'name')
  const template = some({
    spec: some(owner === 'a' ? { containers } : { containers, hostNetwork: fc.boolean() }),
  })
  const condition = fc.tuple(name, value).map(([type, status]) => ({ type, status }))
  const conditions = keyed(condition, 'type')
  return some({
    metadata: some({ labels, finalizers: fc.uniqueArray(name, { minLength: 1 }) }),
    spec: some({ ...own, template }),
    status: some({ conditions }),
  })
}

/** Objects with a non-empty subset of the fields. */
function some(fields: Record<string, fc.Arbitrary<JsonValue>>): fc.Arbitrary<JsonObject> {
  const record = fc.record(fields, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>
  return record.filter(each => Object.keys(each).length > 0)
}

const configuration = configurations(['a', 'b', 'c'])

function set(history: History, manager: string): FieldSet {
  return history.entries.find(entry => entry.manager === manager)?.fields ?? fieldSet([])
}

/** All fields of a configuration, including those that identify the object. */
function claims(applied: JsonObject): FieldSet {
  return toFieldSet(deploymentSchema, applied)
}

test('server-side apply is idempotent', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const history = new History(deployments).apply('x', first).apply('y', second, { force: true })
      const before = history.object
      assert.equal(history.apply('y', second).object, before)
    }),
  )
})

test('a sole applier determines the object', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const history = new History(deployments).apply('x', first).apply('x', second)
      assert.deepEqual(history.content, second)
      assert.ok(equals(set(history, 'x'), claims(second)))
    }),
  )
})

test('fields no longer applied are removed, and nothing else', () => {
  fc.assert(
    fc.property(configuration, fc.nat(), (whole, seed) => {
      const droppable = [...paths(claims(whole))].filter(path => !keyFields.has(path.at(-1) ?? ''))
      const dropped = droppable[seed % droppable.length] ?? []
      const part = asMap(removeItems(deploymentSchema, whole, fieldSet([dropped]))) ?? {}
      const history = new History(deployments).apply('x', whole).apply('x', part)
      assert.deepEqual(history.content, part)
    }),
  )
})

/** The key fields of a list item cannot be omitted from it. */
const keyFields: ReadonlySet<string> = new Set(['f:name', 'f:type', 'f:containerPort'])

test('managers of different fields do not conflict', () => {
  const ofA = configurations(['a', 'b'], 'a')
  const ofB = configurations(['x', 'y'], 'b')
  fc.assert(
    fc.property(ofA, ofB, ofA, (first, other, last) => {
      const history = new History(deployments).apply('a', first).apply('b', other).apply('a', last)
      assert.ok(equals(set(history, 'a'), claims(last)))
      assert.ok(equals(set(history, 'b'), claims(other)))
      for (const [manager, applied] of [
        ['a', last],
        ['b', other],
      ] as const) {
        const part = extractItems(deploymentSchema, history.object ?? {}, set(history, manager))
        assert.ok(isSame(compareValues(deploymentSchema, applied, part ?? {})))
      }
    }),
  )
})

interface Write {
  readonly manager: string
  readonly kind: 'apply' | 'force' | 'update'
  readonly fields: JsonObject
}

const write: fc.Arbitrary<Write> = fc.record({
  manager: fc.constantFrom('x', 'y', 'z'),
  kind: fc.constantFrom('apply', 'force', 'update'),
  fields: configuration,
})

test('owned fields exist after any write, and a conflict changes nothing', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 8 }), writes => {
      const history = new History(deployments)
      for (const each of writes) {
        const before = history.object
        try {
          perform(history, each)
        } catch (error) {
          assert.ok(isApiError(error, 'Conflict') && each.kind === 'apply')
          assert.equal(history.object, before)
        }
      }
    }),
    { numRuns: 60 },
  )
})

/** `History` checks after each write that only existing fields have owners. */
function perform(history: History, { manager, kind, fields }: Write): void {
  const before = history.object
  if (kind === 'update') {
    history.update(manager, fields)
    const { added, modified } = compareValues(deploymentSchema, before ?? {}, history.object ?? {})
    const leavesChanged = intersection(union(added, modified), claims(history.object ?? {}))
    for (const entry of history.entries) {
      if (entry.manager === manager && entry.operation === 'Update') continue
      assert.ok(isEmpty(intersection(entry.fields, leavesChanged)), 'what was changed has one owner')
    }
    return
  }
  history.apply(manager, fields, { force: kind === 'force' })
  assert.ok(isEmpty(difference(claims(fields), set(history, manager))), 'who applied owns what he applied')
  const part = extractItems(deploymentSchema, history.object ?? {}, claims(fields))
  assert.ok(isSame(compareValues(deploymentSchema, fields, part ?? {})), 'what was applied is there')
}

test('a merge contains the configuration and the rest of the live object', () => {
  fc.assert(
    fc.property(configuration, configuration, (live, applied) => {
      const merged = mergeValues(deploymentSchema, live, applied)
      assert.ok(equals(toFieldSet(deploymentSchema, merged), union(claims(live), claims(applied))))
      const { removed } = compareValues(deploymentSchema, live, merged)
      assert.ok(isEmpty(removed))
      assert.equal(mergeValues(deploymentSchema, merged, applied), merged)
    }),
  )
})

test('compareValues finds no change exactly for equal objects, ignoring item order', () => {
  fc.assert(
    fc.property(configuration, configuration, (a, b) => {
      assert.ok(isSame(compareValues(deploymentSchema, a, structuredClone(a))))
      const same = isSame(compareValues(deploymentSchema, a, b))
      assert.equal(same, isSame(compareValues(deploymentSchema, b, a)))
      if (equalJson(a, b)) assert.ok(same)
      if (same) assert.ok(equals(claims(a), claims(b)))
    }),
  )
})

test('an update that changes nothing keeps the managed fields', () => {
  fc.assert(
    fc.property(configuration, configuration, (first, second) => {
      const history = new History(deployments).apply('x', first).update('y', second)
      const before = managedFieldsOf(history.object)
      assert.deepEqual(managedFieldsOf(history.update('z', {}).object), before)
    }),
  )
})
