import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { apiVersionText, kindText, locationOf, metadataText, type Info } from '../resource/info.ts'
import { lastAppliedAnnotation, lastAppliedOf } from '../resource/last-applied.ts'
import type { ResourceClient, ResourceLocation, WriteQuery } from '../resource/resource-client.ts'
import { toCompactJson } from '../printers/object-printer.ts'
import { serverSideManager } from './apply-flags.ts'
import { lastAppliedOwners, managedFieldsOf, migrateManagedFields } from './migrate-managed-fields.ts'

export interface ServerSideApplyOptions {
  readonly factory: Factory
  readonly write: WriteQuery & { readonly fieldManager: string }
  readonly subresource: string | undefined
}

/** Applies one object of a manifest at the server. Returns the stored object. */
export async function serverSideApply(info: Info, options: ServerSideApplyOptions): Promise<JsonObject> {
  const { factory, write, subresource } = options
  const resources = await factory.resources()
  const body = toCompactJson(info.object ?? {})
  const apply = (): Promise<JsonObject> =>
    resources.patch(locationOf(info, subresource), { type: 'apply', body }, write)
  let applied: JsonObject
  try {
    applied = await apply()
  } catch (error) {
    throw explained(error)
  }
  const migration = new Migration({ resources, location: locationOf(info), write })
  const migrated = await attempt(
    factory,
    'failed to migrate kubectl.kubernetes.io/last-applied-configuration for Server-Side Apply',
    async () => migration.keepAnnotation(applied),
  )
  if (migrated === undefined) return applied
  const upgraded = await attempt(
    factory,
    'server rejected managed fields migration to Server-Side Apply',
    async () => migration.migrate(migrated),
  )
  if (upgraded === undefined || upgraded === migrated) return upgraded ?? migrated
  // Only now the server removes fields that the configuration no longer has.
  const task = 'failed to re-apply configuration after performing Server-Side Apply migration'
  return (await attempt(factory, task, apply)) ?? upgraded
}

/** The object was applied: a failure of what follows is only a warning. */
async function attempt<T>(factory: Factory, task: string, action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action()
  } catch (error) {
    const note = 'This is non-fatal and will be retried next time you apply.'
    factory.printWarning(`${task}. ${note} Error: ${messageOf(error)}`)
    return undefined
  }
}

function explained(error: unknown): unknown {
  if (isApiError(error, 'UnsupportedMediaType')) {
    return new Error(`Server-side apply not available on the server: (${error.message})`, { cause: error })
  }
  return isApiError(error, 'Conflict')
    ? new Error(`${error.message}\n${conflictAdvice}`, { cause: error })
    : error
}

/** Scripts match on this text. */
const conflictAdvice = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`

/** Owns the annotation of client-side apply, which a later client-side apply needs. */
const annotationManager = 'kubectl-last-applied'

const conflictRetriesMax = 5

/** Moves an object from client-side to server-side apply. */
class Migration {
  readonly #resources: ResourceClient
  readonly #location: ResourceLocation
  readonly #write: ServerSideApplyOptions['write']

  constructor(options: {
    readonly resources: ResourceClient
    readonly location: ResourceLocation
    readonly write: ServerSideApplyOptions['write']
  }) {
    this.#resources = options.resources
    this.#location = options.location
    this.#write = options.write
  }

  /** Keeps the annotation, which no configuration has, from being removed. */
  async keepAnnotation(object: JsonObject): Promise<JsonObject> {
    const text = lastAppliedOf(object)
    if (this.#write.fieldManager !== serverSideManager || text === '') return object
    if (lastAppliedOwners(managedFieldsOf(object), 'Apply').length > 0) return object
    const namespace = metadataText(object, 'namespace')
    const annotated = {
      apiVersion: apiVersionText(object),
      kind: kindText(object),
      metadata: {
        name: metadataText(object, 'name'),
        ...(namespace !== '' && { namespace }),
        annotations: { [lastAppliedAnnotation]: text },
      },
    }
    const { force: _force, ...write } = this.#write
    return this.#resources.patch(
      this.#location,
      { type: 'apply', body: toCompactJson(annotated) },
      { ...write, fieldManager: annotationManager },
    )
  }

  /** The same object if there is nothing to migrate. */
  async migrate(object: JsonObject): Promise<JsonObject> {
    const applier = this.#write.fieldManager
    const { force: _force, ...write } = this.#write
    let current = object
    const updaters = lastAppliedOwners(managedFieldsOf(object), 'Update')
    for (let retries = 0; ; retries++) {
      const entries = migrateManagedFields(managedFieldsOf(current), { updaters, applier })
      if (entries === undefined) return current
      const resourceVersion = metadataText(current, 'resourceVersion')
      // Replacing the resourceVersion with itself makes a meanwhile changed object a conflict.
      const operations = [
        { op: 'replace', path: '/metadata/managedFields', value: [...entries] },
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
      ]
      try {
        return await this.#resources.patch(
          this.#location,
          { type: 'json', body: toCompactJson(operations) },
          write,
        )
      } catch (error) {
        if (!isApiError(error, 'Conflict') || retries === conflictRetriesMax) throw error
        current = await this.#resources.get(this.#location)
      }
    }
  }
}
