import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { deleteOptionsOf, type DeletionPlan } from '../delete/delete-flags.ts'
import { deletedUid, waitForDeletion } from '../delete/wait-for-deletion.ts'
import { ContextError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { sorted, toCompactJson } from '../printers/object-printer.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { lastAppliedAnnotation, lastAppliedOf, withLastApplied } from '../resource/last-applied.ts'
import type { WriteQuery } from '../resource/resource-client.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import type { DryRun } from '../write-flags.ts'
import { planApplyPatch, type ApplyPatch } from './plan-apply-patch.ts'
import { describeLocation } from './read-ahead.ts'

export interface ClientSideApplyOptions {
  readonly factory: Factory
  /** The live object; undefined if it does not exist. */
  readonly current: JsonObject | undefined
  readonly dryRun: DryRun
  readonly write: WriteQuery
  readonly overwrite: boolean
  /** Objects that cannot be patched are deleted and created. */
  readonly force: boolean
  readonly deletion: DeletionPlan
  readonly timeoutMs: number
}

export interface AppliedObject {
  readonly object: JsonObject
  readonly operation: 'created' | 'configured' | 'unchanged'
}

/** Applies one object of a manifest: creates it, or patches the changes since it was applied last. */
export async function clientSideApply(info: Info, options: ClientSideApplyOptions): Promise<AppliedObject> {
  const { factory, current } = options
  const modified = withLastApplied(info.object ?? {})
  if (current === undefined) return { object: await create(info, modified, options), operation: 'created' }
  if (lastAppliedOf(current) === '') {
    factory.printWarning(
      `resource ${info.mapping.plural}/${info.name} is missing the ${lastAppliedAnnotation} annotation which is ` +
        'required by kubectl apply. kubectl apply should only be used on resources created declaratively by ' +
        'either kubectl create --save-config or kubectl apply. The missing annotation will be patched ' +
        'automatically.',
    )
  }
  return new Patcher(info, options).patch(modified, current)
}

async function create(info: Info, modified: JsonObject, { factory, dryRun, write }: ClientSideApplyOptions) {
  const object = withoutNulls(modified)
  if (dryRun === 'client') return object
  const resources = await factory.resources()
  try {
    return await resources.create(locationOf(info), object, write)
  } catch (error) {
    throw new ContextError(`error when creating ${sourceOf(info)}`, error)
  }
}

/** As a patch would apply it. */
function withoutNulls(object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(([, value]) => value !== null)
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutNullsIn(value)]))
}

function withoutNullsIn(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNullsIn)
  return isObject(value) ? withoutNulls(value) : value
}

/** Attempts after a conflict; from the second on, after a pause. */
const conflictRetriesMax = 5
const retryIntervalMs = 1_000

class Patcher {
  readonly #info: Info
  readonly #options: ClientSideApplyOptions
  /** The latest patch, for errors. */
  #patch = ''

  constructor(info: Info, options: ClientSideApplyOptions) {
    this.#info = info
    this.#options = options
  }

  async patch(modified: JsonObject, current: JsonObject): Promise<AppliedObject> {
    try {
      return await this.#patchOrRecreate(modified, current)
    } catch (error) {
      const source = sourceOf(this.#info)
      const context = `error when applying patch:\n${this.#patch}\nto:\n${describeLocation(this.#info)}\nfor: ${source}`
      throw new ContextError(`${context}: error when patching ${source}`, error)
    }
  }

  async #patchOrRecreate(modified: JsonObject, current: JsonObject): Promise<AppliedObject> {
    try {
      return await this.#patchRetrying(modified, current)
    } catch (error) {
      if (!this.#options.force || !(isApiError(error, 'Conflict') || isApiError(error, 'Invalid')))
        throw error
      return { object: await this.#recreate(modified, current), operation: 'configured' }
    }
  }

  async #patchRetrying(modified: JsonObject, first: JsonObject): Promise<AppliedObject> {
    const { factory } = this.#options
    let current = first
    for (let retries = 0; ; retries++) {
      try {
        return await this.#patchOnce(modified, current)
      } catch (error) {
        if (!isApiError(error, 'Conflict') || retries === conflictRetriesMax) throw error
        if (retries > 0) await factory.machine.platform.clock.sleep(retryIntervalMs)
        current = await (await factory.resources()).get(locationOf(this.#info))
      }
    }
  }

  async #patchOnce(modified: JsonObject, current: JsonObject): Promise<AppliedObject> {
    const { factory, dryRun, write, overwrite } = this.#options
    const schema = await kindSchemaOf(this.#info.mapping)
    const plan = planApplyPatch({ modified, current, schema, overwrite })
    const { type, patch } = plan
    this.#patch = toCompactJson(sorted(patch))
    if (Object.keys(patch).length === 0) return { object: current, operation: 'unchanged' }
    if (dryRun === 'client')
      return { object: await this.#patchLocally(plan, current), operation: 'configured' }
    const resources = await factory.resources()
    const object = await resources.patch(locationOf(this.#info), { type, body: this.#patch }, write)
    return { object, operation: 'configured' }
  }

  async #patchLocally({ type, patch }: ApplyPatch, current: JsonObject): Promise<JsonObject> {
    const { applyPatch } = await import('#/api/patch.ts')
    const schema = await kindSchemaOf(this.#info.mapping)
    return applyPatch(type, { current, patch, schema }) as JsonObject
  }

  /** Restores the object if the new one cannot be created. */
  async #recreate(modified: JsonObject, current: JsonObject): Promise<JsonObject> {
    const { factory, deletion, timeoutMs, write } = this.#options
    const info = this.#info
    const resources = await factory.resources()
    const response = await resources.delete(locationOf(info), deleteOptionsOf(deletion))
    await waitForDeletion(factory, { deleted: [{ info, uid: deletedUid(response) }], timeoutMs })
    try {
      return await resources.create(locationOf(info), modified, write)
    } catch (error) {
      const metadata = isObject(current['metadata']) ? current['metadata'] : {}
      const { resourceVersion: _version, uid: _uid, ...kept } = metadata
      await resources.create(locationOf(info), { ...current, metadata: kept }, write)
      throw error
    }
  }
}

function sourceOf({ source = '' }: Info): string {
  return JSON.stringify(source)
}
