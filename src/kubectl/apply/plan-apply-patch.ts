import { DecodeError } from '#/api/decoding/decode-error.ts'
import { createThreeWayMergePatch, createThreeWayStrategicMergePatch } from '#/api/patch.ts'
import type { Schema } from '#/api/schema.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { lastAppliedOf } from '../resource/last-applied.ts'

export interface ApplyPatchOptions {
  /** The configuration, with itself in the annotation. */
  readonly modified: JsonObject
  /** The live object. */
  readonly current: JsonObject
  /** Absent for kinds without strategic merge patches. */
  readonly schema: Schema | undefined
  /** If false, fields that were changed since the last apply are an error. */
  readonly overwrite: boolean
}

export interface ApplyPatch {
  readonly type: 'strategic' | 'merge'
  /** Without fields if nothing changes. */
  readonly patch: JsonObject
}

/**
 * The patch of `kubectl apply`. Throws Error if the live object conflicts, or cannot become the
 * configuration.
 */
export function planApplyPatch({ modified, current, schema, overwrite }: ApplyPatchOptions): ApplyPatch {
  const versions = { original: originalOf(current), modified, current }
  if (schema !== undefined) {
    const plan = createThreeWayStrategicMergePatch(versions, schema, { overwrite, preconditions: [] })
    if (plan.outcome === 'patch') return { type: 'strategic', patch: plan.patch }
    throw new Error(conflictText(plan.outcome === 'conflict' ? plan.fields : [plan.field]))
  }
  // As upstream, custom resources are always overwritten.
  const plan = createThreeWayMergePatch(versions, { overwrite: true, preconditions: identity })
  if (plan.outcome === 'patch') return { type: 'merge', patch: plan.patch }
  throw new Error('At least one of apiVersion, kind and name was changed')
}

const identity = [['apiVersion'], ['kind'], ['metadata', 'name']]

function conflictText(fields: readonly string[]): string {
  const own = fields.filter(field => !field.startsWith('metadata.annotations.kubectl'))
  return (
    `creating patch: these fields were changed since they were applied last: ${own.join(', ')}\n` +
    'Use --overwrite=true to replace them.'
  )
}

/** The configuration that was applied last. Undefined if there is none. */
function originalOf(current: JsonObject): JsonObject | undefined {
  const text = lastAppliedOf(current)
  if (text === '') return undefined
  try {
    const value = parseJson(text)
    if (isObject(value)) return value
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
  throw new Error('the annotation with the last applied configuration is not a JSON object')
}
