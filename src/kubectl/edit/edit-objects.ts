import { isApiError } from '#/api/errors.ts'
import { createMergePatch, createStrategicMergePatch } from '#/api/patch.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import { ExitError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { sorted, toCompactJson, withoutManagedFields } from '../printers/object-printer.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import type { ObjectPatch, WriteQuery } from '../resource/resource-client.ts'
import type { EditReason } from './edit-file.ts'

export interface EditObjectsOptions {
  readonly factory: Factory
  /** As they were read from the server. */
  readonly originals: readonly Info[]
  readonly write: WriteQuery
  readonly subresource: string | undefined
  readonly printsPatch: boolean
  /** Adds annotations to an edited object. */
  readonly annotated: (object: JsonObject) => JsonObject
  readonly print: (object: JsonObject, operation: string) => Promise<void>
}

/**
 * Sends the changes of edited objects as patches. Returns why the file must be edited again. Throws ExitError
 * if the server rejects a change for another reason than its content; the user then continues with the file.
 */
export async function saveEditedObjects(
  edited: readonly Info[],
  path: string,
  options: EditObjectsOptions,
): Promise<readonly EditReason[]> {
  const { stderr } = options.factory.machine.streams
  const reasons: EditReason[] = []
  let isMissing = false
  let canRetry = false
  for (const info of edited) {
    try {
      await save(info, options)
    } catch (error) {
      if (!isApiError(error)) throw error
      const subject = subjectOf(info)
      if (error.reason === 'Invalid') {
        const causes = error.status.details?.causes ?? []
        const details = causes.map(({ field = '', message = '' }) => `${field}: ${message}`)
        reasons.push({ head: `${subject} was not valid`, details })
        stderr.write(`error: ${subject} is invalid\n`)
      } else if (error.reason === 'NotFound') {
        isMissing = true
        stderr.write(`error: ${subject} could not be found on the server\n`)
      } else {
        canRetry = true
        stderr.write(`error: ${subject} could not be patched: ${messageOf(error)}\n`)
      }
    }
  }
  if (canRetry) stderr.write(`You can run \`kubectl replace -f ${path}\` to try this update again.\n`)
  else if (isMissing) {
    stderr.write(`The edits you made on deleted resources have been saved to ${quote(path)}\n`)
  }
  if (canRetry || isMissing) throw new ExitError(1)
  return reasons
}

/** `deployments.apps "web"`. */
export function subjectOf({ mapping: { plural, group }, name }: Info): string {
  return `${group === '' ? plural : `${plural}.${group}`} ${quote(name)}`
}

async function save(info: Info, options: EditObjectsOptions): Promise<void> {
  const { factory, originals, write, subresource, printsPatch, annotated, print } = options
  const object = annotated(info.object ?? {})
  const uid = metadataText(object, 'uid')
  const original = originals.find(each => metadataText(each.object ?? {}, 'uid') === uid)
  if (original === undefined)
    throw new Error(`no original object found for ${subjectOf(info)} with uid ${quote(uid)}`)
  const current = withoutManagedFields(original.object ?? {})
  if (equalJson(current, object)) {
    await print(object, 'skipped')
    return
  }
  const patch = await planEditPatch(info, { current, edited: object })
  if (printsPatch) factory.machine.streams.write(`Patch: ${String(patch.body)}\n`)
  const resources = await factory.resources()
  await print(await resources.patch(locationOf(info, subresource), patch, write), 'edited')
}

/** Throws Error if the edited object would be another one. */
async function planEditPatch(
  { mapping }: Info,
  { current, edited }: { readonly current: JsonObject; readonly edited: JsonObject },
): Promise<ObjectPatch> {
  const schema = await kindSchemaOf(mapping)
  const difference = schema
    ? createStrategicMergePatch(current, edited, schema)
    : createMergePatch(current, edited)
  const patch = isObject(difference) ? difference : {}
  const { metadata } = patch
  if ('apiVersion' in patch || 'kind' in patch || (isObject(metadata) && 'name' in metadata)) {
    throw new Error('At least one of apiVersion, kind and name was changed')
  }
  return { type: schema ? 'strategic' : 'merge', body: toCompactJson(sorted(patch)) }
}
