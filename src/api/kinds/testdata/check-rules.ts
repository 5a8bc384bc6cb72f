/** Test notation for rules: an object in its shortest form, and all its validation errors. */
import assert from 'node:assert/strict'
import { formatFieldError, type FieldError } from '../../field-error.ts'
import { deepFreeze } from '../../text/json-value.ts'
import type { KindRules } from '../../kind-rules.ts'
import { objectOf, type KubernetesObject } from '../../metadata.ts'
import type { JsonObject } from '../../text/json-object.ts'

export interface RulesUnderTest {
  /**
   * Expects exactly these errors, in this order, on creation; an expected text may be a prefix of the error.
   */
  readonly check: (object: object, ...errors: readonly string[]) => void
  /** The same for an update. */
  readonly checkUpdate: (object: object, old: object, ...errors: readonly string[]) => void
  /** The same for a status update. */
  readonly checkStatus: (object: object, old: object, ...errors: readonly string[]) => void
  /** The object after defaulting, without metadata if it is still empty; defaulting must be idempotent. */
  readonly withDefaults: (object: object) => Partial<KubernetesObject>
}

export function underTest(rules: KindRules<never> | undefined): RulesUnderTest {
  assert.ok(rules)
  const known = rules as unknown as KindRules
  const { withDefaults, prepareForCreate, prepareForUpdate, prepareForStatusUpdate, ...rest } = known
  const fill = (object: object): KubernetesObject => {
    const given = deepFreeze(objectOf(object as JsonObject))
    return withDefaults?.(given) ?? given
  }
  const create = (object: object): KubernetesObject => prepareForCreate?.(fill(object)) ?? fill(object)
  return {
    check(object, ...errors) {
      assertErrors(rest.validate?.(create(object)), errors)
    },
    checkUpdate(object, old, ...errors) {
      const [given, stored] = [fill(object), fill(old)]
      assertErrors(rest.validateUpdate?.(prepareForUpdate?.(given, stored) ?? given, stored), errors)
    },
    checkStatus(object, old, ...errors) {
      const [given, stored] = [fill(object), fill(old)]
      const prepared = prepareForStatusUpdate?.(given, stored, now) ?? given
      assertErrors(rest.validateStatusUpdate?.(prepared, stored), errors)
    },
    withDefaults(object) {
      const filled = fill(object)
      assert.equal(fill(filled), filled)
      if ('metadata' in object || Object.keys(filled.metadata).length > 0) return filled
      const { metadata: _, ...rest } = filled
      return rest
    },
  }
}

const now = '2026-01-01T00:00:00Z'

function assertErrors(errors: readonly FieldError[] | undefined, expected: readonly string[]): void {
  const texts = (errors ?? []).map(formatFieldError)
  const shown = texts.map((text, index) =>
    text.startsWith(expected[index] ?? '\n') ? expected[index] : text,
  )
  assert.deepEqual(shown, expected)
}
