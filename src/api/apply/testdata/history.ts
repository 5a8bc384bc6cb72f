/** An object and its sequence of writes, one second apart, for the tests of server-side apply. */
import assert from 'node:assert/strict'
import {
  applyConfiguration,
  conflictError,
  trackUpdate,
  type Convert,
  type ResetFields,
} from '../../apply.ts'
import { deepFreeze } from '../../text/json-value.ts'
import type { Schema } from '../../schema.ts'
import { changed, compareObjects } from '../ownership.ts'
import { difference, paths, union } from '../field-set.ts'
import { toFieldSet } from '../to-field-set.ts'
import {
  decodeManagedFields,
  managedFieldsOf,
  withManagedFields,
  type ManagedEntry,
} from '../managed-fields.ts'
import { printPath } from '../path-element.ts'
import { asMap, type JsonObject } from '../structure.ts'

export interface WriteSettings {
  readonly force?: boolean
  readonly subresource?: string
  readonly resetFields?: ResetFields
  readonly convert?: Convert
}

export interface HistorySettings {
  readonly schema: Schema
  readonly apiVersion: string
  readonly kind: string
}

export class History {
  object: JsonObject | undefined
  #seconds = 0
  readonly #settings: HistorySettings

  constructor(settings: HistorySettings, object?: JsonObject) {
    this.#settings = settings
    this.object = object === undefined ? undefined : deepFreeze({ ...this.#type(), ...object })
  }

  /** Throws on conflict. */
  apply(manager: string, fields: JsonObject, settings: WriteSettings = {}): this {
    const applied = deepFreeze({ ...this.#type(), ...fields })
    const { force = false } = settings
    const outcome = applyConfiguration({ ...this.#write(manager), ...settings, applied, force })
    if (outcome.conflicts !== undefined) throw conflictError(outcome.conflicts)
    this.object = deepFreeze(outcome.object)
    this.#checkOwners()
    return this
  }

  /** Replaces the given fields and keeps the rest. */
  update(manager: string, fields: JsonObject, settings: WriteSettings = {}): this {
    const updated = deepFreeze({ ...this.#type(), ...this.object, ...fields })
    this.object = deepFreeze(trackUpdate({ ...this.#write(manager), ...settings, updated })())
    assert.deepEqual(withoutOwners(this.object), withoutOwners(updated))
    this.#checkOwners()
    return this
  }

  get entries(): ManagedEntry[] {
    return [...decodeManagedFields(managedFieldsOf(this.object)).values()]
  }

  /**
   * All owned fields by manager: `{ kubectl: '.spec.replicas .spec.paused' }`; Update entries are keyed `name
   * (update)`.
   */
  get owners(): Record<string, string> {
    return Object.fromEntries(
      this.entries.map(({ manager, operation, subresource, fields }) => {
        const role = operation === 'Apply' ? '' : ' (update)'
        const part = subresource === '' ? '' : `/${subresource}`
        return [`${manager}${part}${role}`, [...paths(fields)].map(printPath).join(' ')]
      }),
    )
  }

  /** The object without its identifying fields and managed fields. */
  get content(): JsonObject {
    const { apiVersion: _apiVersion, kind: _kind, ...content } = withoutOwners(this.object ?? {})
    const { metadata, ...rest } = content
    return Object.keys(asMap(metadata) ?? {}).length === 0 ? rest : content
  }

  #type(): JsonObject {
    return { apiVersion: this.#settings.apiVersion, kind: this.#settings.kind }
  }

  #write(manager: string) {
    const now = `2026-01-01T00:00:${String(this.#seconds++ % 60).padStart(2, '0')}Z`
    const { schema, apiVersion } = this.#settings
    return { live: this.object, manager, schema, apiVersion, now }
  }

  /** Asserts that only existing fields have owners. */
  #checkOwners(): void {
    const { schema, apiVersion } = this.#settings
    const object = this.object ?? {}
    const { comparison } = compareObjects(this.#settings, {}, object)
    const there = union(toFieldSet(schema, object), changed(comparison))
    for (const entry of this.entries) {
      if (entry.apiVersion !== apiVersion) continue
      const missing = [...paths(difference(entry.fields, there))].map(printPath)
      assert.deepEqual(missing, [], `fields of ${entry.manager}`)
    }
  }
}

/** Keeps metadata even if empty, since an object with managed fields always has it. */
function withoutOwners(object: JsonObject): JsonObject {
  return withManagedFields(
    { ...object, metadata: { managedFields: null, ...asMap(object['metadata']) } },
    undefined,
  )
}
