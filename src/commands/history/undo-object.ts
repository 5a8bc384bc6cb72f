import { isApiError } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { objectOf } from '#/api/metadata.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Client } from '#/client/client.ts'
import { findResource } from '#/client/find-resource.ts'
import { resourcePath } from '#/client/resource-path.ts'
import { visibleChanges } from '#/history/describe-version.ts'
import type { FieldChange } from '#/history/diff-objects.ts'
import { remainingPatch, undoManager, type RecreatePlan, type RestorePlan } from '#/history/plan-undo.ts'

/** The object as the API server serves it now; undefined if it does not exist. */
export async function readCurrent(client: Client, path: string): Promise<JsonObject | undefined> {
  try {
    return objectIn(await (await client.raw({ method: 'GET', path })).value())
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

/** The uids of the owners of an object that exist. An owner that may not be read counts as one that exists. */
export async function readLiveOwners(client: Client, object: JsonObject): Promise<ReadonlySet<string>> {
  const { ownerReferences = [], namespace = '' } = objectOf(object).metadata ?? {}
  const live = new Set<string>()
  for (const { apiVersion, kind, name, uid } of ownerReferences) {
    const group = parseGroupVersion(apiVersion)?.group ?? ''
    const resource = await findResource(client, group === '' ? kind : `${kind}.${group}`)
    if (resource === undefined || name === '') continue
    const path = resourcePath(resource, { name, ...(resource.scope === 'Namespaced' && { namespace }) })
    try {
      const owner = await readCurrent(client, path)
      if (owner !== undefined && objectIn(owner['metadata'])['uid'] === uid) live.add(uid)
    } catch (error) {
      if (!isApiError(error, 'Forbidden')) throw error
      live.add(uid)
    }
  }
  return live
}

export interface UndoTarget {
  readonly client: Client
  readonly path: string
}

/** The object as it would be, by a dry run of the server. */
export function previewUndo(target: UndoTarget, plan: RestorePlan | RecreatePlan): Promise<JsonObject> {
  if (plan.type === 'recreate') return apply(target, plan.configuration, { dryRun: 'All' })
  return mergePatch(target, plan.patch, { dryRun: 'All' })
}

export function changesOfUndo(current: JsonObject, preview: JsonObject): readonly FieldChange[] {
  return visibleChanges(current, preview, { specOnly: true })
}

export interface UndoVersions {
  readonly current: JsonObject | undefined
  readonly preview: JsonObject
}

/** Fails with Conflict if the object has changed since it was read. */
export async function performUndo(
  target: UndoTarget,
  plan: RestorePlan | RecreatePlan,
  { current, preview }: UndoVersions,
): Promise<void> {
  if (plan.type === 'recreate' || current === undefined) {
    await apply(target, plan.configuration, {})
    return
  }
  const { resourceVersion } = objectIn(current['metadata'])
  const transferred =
    plan.transfer === undefined
      ? current
      : await mergePatch(target, withMetadata({}, { managedFields: [...plan.transfer], resourceVersion }), {})
  const latest = objectIn(transferred['metadata'])['resourceVersion']
  const result = await apply(target, withMetadata(plan.configuration, { resourceVersion: latest }), {})
  const patch = remainingPatch(result, preview)
  if (patch !== undefined) await mergePatch(target, patch, {})
}

function withMetadata(
  object: JsonObject,
  metadata: { readonly [name: string]: JsonValue | undefined },
): JsonObject {
  const given = Object.entries(metadata).filter(
    (entry): entry is [string, JsonValue] => entry[1] !== undefined,
  )
  return { ...object, metadata: { ...objectIn(object['metadata']), ...Object.fromEntries(given) } }
}

function apply(
  target: UndoTarget,
  value: JsonObject,
  query: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  const mediaType = 'application/apply-patch+yaml'
  return patchObject(target, { mediaType, value }, { ...query, force: 'true' })
}

function mergePatch(
  target: UndoTarget,
  value: JsonObject,
  query: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  return patchObject(target, { mediaType: 'application/merge-patch+json', value }, query)
}

async function patchObject(
  { client, path }: UndoTarget,
  body: { readonly mediaType: string; readonly value: JsonObject },
  parameters: Readonly<Record<string, string>>,
): Promise<JsonObject> {
  const query = new URLSearchParams({ ...parameters, fieldManager: undoManager })
  return objectIn(await (await client.raw({ method: 'PATCH', path, body, query })).value())
}

function objectIn(value: unknown): JsonObject {
  const json = value as JsonValue | undefined
  return isObject(json) ? json : {}
}
