import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { defaultResources } from '../builtin.ts'
import { formatFieldErrors } from '../field-error.ts'
import { deepFreeze } from '../text/json-value.ts'
import type { KindRules } from '../kind-rules.ts'
import type { KubernetesObject } from '../metadata.ts'
import type { Resource } from '../resource.ts'
import { rulesOf } from './rules.ts'
import { arbitraryObject } from '../arbitrary-object.ts'

test('all versions of a kind share its rules, and unknown kinds have none', () => {
  const autoscalers = defaultResources().filter(({ plural }) => plural === 'horizontalpodautoscalers')
  assert.equal(autoscalers.length, 2)
  for (const { rules } of autoscalers) assert.equal(rules, rulesOf('autoscaling', 'HorizontalPodAutoscaler'))
  assert.equal(rulesOf('autoscaling', 'constructor'), undefined)
  assert.equal(rulesOf('constructor', 'Role'), undefined)
})

test('every stored kind has rules', () => {
  const without = defaultResources()
    .filter(({ rules }) => rules === undefined)
    .map(({ plural }) => plural)
  assert.deepEqual(without, ['selfsubjectreviews', 'tokenreviews', 'selfsubjectrulesreviews'])
})

/** Groups that have their own such test. */
const testedElsewhere = [
  '',
  'apps',
  'batch',
  'discovery.k8s.io',
  'events.k8s.io',
  'networking.k8s.io',
  'storage.k8s.io',
]
const resources = defaultResources().filter(({ rules, group }) => rules && !testedElsewhere.includes(group))
const objectsPerKind = 50

/** Runs every rule of a kind on two frozen objects. */
function applyRules(
  { rules, storage, version }: Resource,
  given: KubernetesObject,
  stored: KubernetesObject,
): void {
  const known = rules as unknown as KindRules
  const fill = (object: KubernetesObject) => deepFreeze(known.withDefaults?.(object) ?? object)
  const [object, old] = [fill(given), fill(stored)]
  assert.equal(fill(object), object, 'defaults of an object that has them are the object')
  // Rules other than defaulting run in the storage version.
  if (storage.version !== version) return
  const created = deepFreeze(known.prepareForCreate?.(object) ?? object)
  formatFieldErrors(known.validate?.(created) ?? [])
  const updated = deepFreeze(known.prepareForUpdate?.(object, old) ?? object)
  formatFieldErrors(known.validateUpdate?.(updated, old) ?? [])
  const now = '2026-01-01T00:00:00Z'
  const reported = deepFreeze(known.prepareForStatusUpdate?.(object, old, now) ?? object)
  formatFieldErrors(known.validateStatusUpdate?.(reported, old) ?? [])
  known.warnings?.(created, undefined)
  known.warnings?.(updated, old)
  for (const part of Object.values(known.subresources ?? {})) {
    formatFieldErrors(part.validate?.(deepFreeze(part.merge(old, object, now)), old) ?? [])
  }
  for (const valueOf of Object.values(known.selectableFields ?? {}))
    assert.equal(typeof valueOf(object), 'string')
}

test('rules never throw on well-typed objects', () => {
  for (const resource of resources) {
    applyRules(resource, deepFreeze({ metadata: {} }), deepFreeze({ metadata: {} }))
    for (let seed = 0; seed < objectsPerKind; seed++) {
      const random = new SeededRandom(`${resource.plural} ${seed}`)
      const [given, stored] = [0, 1].map(
        () => deepFreeze(arbitraryObject(resource.schema, { random })) as KubernetesObject,
      )
      assert.ok(given && stored)
      try {
        applyRules(resource, given, stored)
        applyRules(resource, given, given)
      } catch (error) {
        throw new Error(`${resource.plural}, seed ${seed}: ${JSON.stringify(given)}`, { cause: error })
      }
    }
  }
})
