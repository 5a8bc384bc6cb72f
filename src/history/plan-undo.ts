/**
 * Decides how an object gets back to an earlier version by server-side apply. Apply removes only fields that no other
 * manager owns: therefore fields that were added since are first made the applying manager's own, a write that changes
 * nothing but `managedFields`. The apply then restores and removes all fields at once, so that a Deployment is rolled
 * out once. Only what differs is applied, and owned afterwards.
 */
import { createMergePatch } from '#/api/patch.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatTime } from '#/api/text/time.ts'
import { uidOf } from './describe-version.ts'
import { allFields, appliedFields, managedFieldsOf, transferFields } from './undo/managed-fields.ts'
import { planFields } from './undo/plan-fields.ts'
import { recreatedState, restorableState } from './undo/restorable-state.ts'

export const undoManager = 'k8ts-undo'

export interface UndoInput {
  /** Undefined if the object does not exist. */
  readonly current: JsonObject | undefined
  readonly target: JsonObject
  /** The uids of the owners of the target that exist. */
  readonly liveOwners: ReadonlySet<string>
  readonly nowMs: number
}

export type UndoPlan =
  /** The object is as it was. */
  { readonly type: 'unchanged' } | RestorePlan | RecreatePlan

export interface RestorePlan {
  readonly type: 'restore'
  /** The difference as a merge patch, for a dry run. */
  readonly patch: JsonObject
  /** With `metadata.managedFields` to send first; undefined if no field is to be removed. */
  readonly transfer: readonly JsonObject[] | undefined
  /** To apply. */
  readonly configuration: JsonObject
  readonly notes: readonly string[]
}

export interface RecreatePlan {
  readonly type: 'recreate'
  readonly configuration: JsonObject
  readonly notes: readonly string[]
}

export function planUndo({ current, target, liveOwners, nowMs }: UndoInput): UndoPlan {
  if (current === undefined) {
    const { object, notes } = recreatedState(target, liveOwners)
    return { type: 'recreate', configuration: object, notes }
  }
  const from = restorableState(current)
  const to = restorableState(target)
  if (equalJson(from, to)) return { type: 'unchanged' }
  const entries = managedFieldsOf(current)
  const { applied, removed } = planFields({
    current: from,
    target: to,
    fields: allFields(entries),
    kept: appliedFields(entries, undoManager),
  })
  const apiVersion = typeof target['apiVersion'] === 'string' ? target['apiVersion'] : ''
  const owner = { manager: undoManager, apiVersion, time: formatTime(nowMs) }
  return {
    type: 'restore',
    patch: createMergePatch(from, to) as JsonObject,
    transfer: removed && transferFields(entries, removed, owner),
    configuration: identified(isObject(applied) ? applied : {}, to),
    notes:
      uidOf(current) === uidOf(target) ? [] : ['the object of that revision was another one of this name'],
  }
}

/** What is left to do after the apply, such as fields without any owner. Undefined if nothing is. */
export function remainingPatch(result: JsonObject, expected: JsonObject): JsonObject | undefined {
  const from = restorableState(result)
  const to = restorableState(expected)
  return equalJson(from, to) ? undefined : (createMergePatch(from, to) as JsonObject)
}

function identified(applied: JsonObject, { apiVersion, kind, metadata }: JsonObject): JsonObject {
  const { name, namespace } = isObject(metadata) ? metadata : {}
  const changed = isObject(applied['metadata']) ? applied['metadata'] : {}
  return {
    ...applied,
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata: {
      ...changed,
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
    },
  }
}
