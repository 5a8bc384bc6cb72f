import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { ContextError } from '../errors.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Factory } from '../factory.ts'
import { planApplyPatch } from '../apply/plan-apply-patch.ts'
import { sorted, toCompactJson } from '../printers/object-printer.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import { lastAppliedAnnotation } from '../resource/last-applied.ts'

export interface MergeOptions {
  readonly factory: Factory
  /** Undefined if the object does not exist. */
  readonly live: JsonObject | undefined
  /** Fails if the object has changed since it was read. */
  readonly isLocked: boolean
  readonly isServerSide: boolean
  readonly force: boolean
  readonly fieldManager: string
}

/** What the object of a manifest would be after an apply, as the server answers to a dry run. */
export async function mergedObject(info: Info, options: MergeOptions): Promise<JsonObject> {
  const { factory, live, isServerSide, fieldManager, force } = options
  const resources = await factory.resources()
  const object = info.object ?? {}
  const write = { dryRun: true, fieldManager }
  if (isServerSide) {
    return resources.patch(
      locationOf(info),
      { type: 'apply', body: toCompactJson(object) },
      { ...write, force },
    )
  }
  if (live === undefined) return resources.create(locationOf(info), object, write)
  const schema = await kindSchemaOf(info.mapping)
  const plan = planApplyPatch({
    modified: withoutLastApplied(object),
    current: live,
    schema,
    overwrite: true,
  })
  if (Object.keys(plan.patch).length === 0) return live
  const patch = options.isLocked
    ? withResourceVersion(plan.patch, metadataText(live, 'resourceVersion'))
    : plan.patch
  try {
    return await resources.patch(
      locationOf(info),
      { type: plan.type, body: toCompactJson(sorted(patch)) },
      write,
    )
  } catch (error) {
    throw new ContextError(`error when patching ${JSON.stringify(info.source ?? '')}`, error)
  }
}

/** The annotation would only repeat the difference. */
function withoutLastApplied(object: JsonObject): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const given = isObject(metadata['annotations']) ? metadata['annotations'] : {}
  const { [lastAppliedAnnotation]: _applied, ...annotations } = given
  return { ...object, metadata: { ...metadata, annotations } }
}

function withResourceVersion(patch: JsonObject, resourceVersion: string): JsonObject {
  const metadata = isObject(patch['metadata']) ? patch['metadata'] : {}
  return { ...patch, metadata: { ...metadata, resourceVersion } }
}

const mask = '***'
const maskBefore = '*** (before)'
const maskAfter = '*** (after)'

export interface SecretVersions {
  readonly live?: JsonObject
  readonly merged: JsonObject
}

/** Both versions of a Secret with masked values, which still show which values differ. */
export function maskSecrets({ live, merged }: SecretVersions): SecretVersions {
  const before = live && dataOf(live)
  const after = dataOf(merged)
  const masked = (data: JsonObject, other: JsonObject | undefined, changed: string): JsonObject =>
    Object.fromEntries(
      Object.keys(data).map(key => {
        const isChanged =
          other !== undefined && Object.hasOwn(other, key) && !equalJson(data[key], other[key])
        return [key, isChanged ? changed : mask]
      }),
    )
  return {
    ...(live && { live: before ? { ...live, data: masked(before, after, maskBefore) } : live }),
    merged: after ? { ...merged, data: masked(after, before, maskAfter) } : merged,
  }
}

function dataOf({ data }: JsonObject): JsonObject | undefined {
  return isObject(data) ? data : undefined
}
