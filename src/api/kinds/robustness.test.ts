import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { structDefinition } from '../definitions.ts'
import { formatFieldErrors } from '../field-error.ts'
import { deepFreeze } from '../text/json-value.ts'
import type { GroupRules, KindRules } from '../kind-rules.ts'
import type { KubernetesObject } from '../metadata.ts'
import { coreRules } from './core/group.ts'
import { endpointSliceRules } from './discovery/endpoint-slice.ts'
import { eventRules } from './events/event.ts'
import { networkingRules } from './networking/group.ts'
import { storageRules } from './storage/group.ts'
import { arbitraryObject } from '../arbitrary-object.ts'

const objectsPerKind = 150
/** Tested together with the other pod rules. */
const podKinds = ['Pod', 'PodTemplate', 'ReplicationController']

/** Runs every rule of a kind on two objects. They are frozen, so a mutation throws. */
function applyRules(rules: KindRules, given: KubernetesObject, stored: KubernetesObject): void {
  const fill = (object: KubernetesObject) => deepFreeze(rules.withDefaults?.(object) ?? object)
  const [object, old] = [fill(given), fill(stored)]
  assert.equal(fill(object), object, 'defaults of an object that has them are the object')
  const created = deepFreeze(rules.prepareForCreate?.(object) ?? object)
  formatFieldErrors(rules.validate?.(created) ?? [])
  const updated = deepFreeze(rules.prepareForUpdate?.(object, old) ?? object)
  formatFieldErrors(rules.validateUpdate?.(updated, old) ?? [])
  const reported = deepFreeze(rules.prepareForStatusUpdate?.(object, old, '2026-01-01T00:00:00Z') ?? object)
  formatFieldErrors(rules.validateStatusUpdate?.(reported, old) ?? [])
  for (const warnings of [rules.warnings?.(created, undefined), rules.warnings?.(updated, old)]) {
    assert.ok(!warnings?.includes(''))
  }
  const selectable = Object.values(rules.selectableFields ?? {}).map(valueOf => typeof valueOf(object))
  assert.ok(selectable.every(type => type === 'string'))
  rules.hasPendingFinalization?.(object)
  rules.beginDeletion?.(object, '2026-01-01T00:00:00Z')
}

function checkKinds(group: string, all: GroupRules): void {
  for (const [kind, rules] of Object.entries(all)) {
    if (podKinds.includes(kind)) continue
    // Events of both groups are validated in the core version.
    const schema = structDefinition(`${group === 'events' ? 'core' : group}.v1.${kind}`)
    const known = rules as unknown as KindRules
    applyRules(known, deepFreeze({ metadata: {} }), deepFreeze({ metadata: {} }))
    for (let seed = 0; seed < objectsPerKind; seed++) {
      const random = new SeededRandom(`${kind} ${seed}`)
      const [given, stored] = [0, 1].map(
        () => deepFreeze(arbitraryObject(schema, { random })) as KubernetesObject,
      )
      assert.ok(given && stored)
      try {
        applyRules(known, given, stored)
        applyRules(known, given, given)
      } catch (error) {
        throw new Error(`${kind}, seed ${seed}: ${JSON.stringify(given)}`, { cause: error })
      }
    }
  }
}

test('rules of the core group never throw on well-typed objects', () => {
  checkKinds('core', coreRules)
})
test('rules of networking.k8s.io never throw on well-typed objects', () => {
  checkKinds('networking', networkingRules)
})
test('rules of discovery.k8s.io never throw on well-typed objects', () => {
  checkKinds('discovery', { EndpointSlice: endpointSliceRules })
})
test('rules of storage.k8s.io never throw on well-typed objects', () => {
  checkKinds('storage', storageRules)
})
test('rules of events.k8s.io never throw on well-typed objects', () => {
  checkKinds('events', { Event: eventRules })
})
