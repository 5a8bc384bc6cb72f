/**
 * Rewrites all objects of a resource that a StorageVersionMigration names, so that they are stored in the current
 * storage version. One migration of a resource runs at a time. For custom resources, the older versions are then
 * removed from `status.storedVersions` of the definition.
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/storage-version-migration/
 */
import { isTrue, withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import type { StorageVersionMigration } from '#/api/generated/storagemigration/v1beta1.ts'
import { storageVersionMigrations } from '#/api/generated/storagemigration/v1beta1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { compareInt64 } from '#/api/text/int64.ts'
import { formatTime } from '#/api/text/time.ts'
import { messageOf } from '#/base/message-of.ts'
import { discoverResources } from '#/client/discovery.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { planMigrationStep } from './storage-version-migrator/plan.ts'

export const storageVersionMigratorController: Controller = {
  name: 'storage-version-migrator-controller',
  account: 'storage-version-migrator-controller',
  setUp,
}

const fieldManager = 'storage-version-migrator-controller'
const crdFieldManager = 'migration-runner-controller'

/** Objects in a page while a resource is migrated. */
const pageLimit = 500

type Migration = Stored<StorageVersionMigration>

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const migrations = informer(storageVersionMigrations)
  migrations.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject) enqueue(key)
    // The next migration of the resource may begin.
    const changed = newObject ?? oldObject
    for (const other of migrations.list()) if (isSameResource(other, changed)) enqueue(other.metadata.name)
  })
  return async request => {
    const migration = migrations.get(request.key)
    if (migration === undefined) return
    const migrator = new Migrator(request, migration, () => formatTime(platform.clock.now()))
    const ofResource = migrations.list().filter(other => isSameResource(other, migration))
    switch (planMigrationStep(migration, ofResource)) {
      case 'activate':
        return migrator.activate()
      case 'checkpoint':
        return migrator.checkpoint(platform.clock.now())
      case 'migrate':
        return migrator.migrate()
      case 'finish':
        return migrator.finish()
      case 'nothing':
        return undefined
    }
  }
}

function isSameResource(one: StorageVersionMigration, other: StorageVersionMigration | undefined): boolean {
  const [a, b] = [one.spec?.resource, other?.spec?.resource]
  return a?.resource === b?.resource && (a?.group ?? '') === (b?.group ?? '')
}

/** A resource that was just defined may be missing in discovery. */
const discoveryGraceMs = 60_000

class Migrator {
  readonly #request: ReconcileRequest
  readonly #migration: Migration
  readonly #now: () => string

  constructor(request: ReconcileRequest, migration: Migration, now: () => string) {
    this.#request = request
    this.#migration = migration
    this.#now = now
  }

  async activate(): Promise<void> {
    const { name } = this.#migration.metadata
    await this.#applyToDefinition({
      status: 'True',
      reason: 'MigrationRunning',
      message: `Migration ${name} is running`,
    })
    await this.#setCondition('Running', 'MigrationRunning', 'The migration is running')
  }

  /** Records the resourceVersion up to which objects are rewritten: later ones are written in the current version. */
  async checkpoint(nowMs: number): Promise<void> {
    const { client, signal } = this.#request
    const resource = await this.#resource()
    if (resource === undefined) {
      const age = nowMs - Date.parse(this.#migration.metadata.creationTimestamp)
      if (age < discoveryGraceMs) throw new Error('the resource is not in discovery yet')
      return this.#fail('resource does not exist in discovery')
    }
    const missing = (['update', 'patch', 'list'] as const).filter(verb => !resource.verbs.includes(verb))
    if (missing.length > 0)
      return this.#fail(`resource does not support discovery operations: ${missing.join(', ')}`)
    const { metadata } = await client.list(resource, { limit: 1, signal })
    const status = { ...this.#migration.status, resourceVersion: metadata.resourceVersion ?? '' }
    await client.updateStatus(storageVersionMigrations, { ...this.#migration, status }, { signal })
  }

  async migrate(): Promise<void> {
    const resource = await this.#resource()
    if (resource === undefined) return this.#fail('unable to obtain GVR from discovery')
    try {
      await this.#rewriteAll(resource)
    } catch (error) {
      if (!isFinal(error)) throw error
      return this.#fail(`migration encountered unhandled error: ${messageOf(error)}`)
    }
    return this.#setCondition('Succeeded', 'StorageVersionMigrationSucceeded', '')
  }

  /** The definition first: when this is interrupted, the migration still counts as running. */
  async finish(): Promise<void> {
    const { status } = this.#migration
    const isSucceeded = isTrue(status?.conditions, 'Succeeded')
    await this.#finishDefinition(isSucceeded)
    await this.#writeConditions({
      type: 'Running',
      status: 'False',
      reason: 'MigrationCompleted',
      message: 'Migration completed',
    })
  }

  async #rewriteAll(resource: Resource): Promise<void> {
    const { client, signal } = this.#request
    const checkpoint = this.#migration.status?.resourceVersion ?? '0'
    let next: string | undefined
    do {
      const options = { limit: pageLimit, signal, ...(next !== undefined && { continue: next }) }
      const { items, metadata } = await client.list(resource, options)
      for (const { metadata: object } of items)
        if (BigInt(object.resourceVersion ?? 0) <= BigInt(checkpoint)) await this.#rewrite(resource, object)
      next = metadata.continue
    } while (next !== undefined && next !== '')
  }

  /** An apply without fields changes nothing but the stored form. */
  async #rewrite(resource: Resource, object: CustomResourceDefinition['metadata']): Promise<void> {
    const { client, signal } = this.#request
    const { name, namespace, uid, resourceVersion } = object
    const metadata = { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) }
    try {
      await client.apply(resource, { metadata }, { fieldManager, signal })
    } catch (error) {
      // It was updated, deleted or created again meanwhile, which is a migration, too.
      if (!isApiError(error, 'Conflict') && !isApiError(error, 'NotFound')) throw error
    }
  }

  async #resource(): Promise<Resource | undefined> {
    const { client, signal } = this.#request
    const { group = '', resource } = this.#migration.spec?.resource ?? {}
    const all = await discoverResources(client, signal)
    return all.find(each => each.group === group && each.plural === resource)
  }

  async #definition(): Promise<Stored<CustomResourceDefinition> | undefined> {
    const { client, signal } = this.#request
    const { group, resource } = this.#migration.spec?.resource ?? {}
    return group
      ? client.find(customResourceDefinitions, { name: `${resource}.${group}` }, { signal })
      : undefined
  }

  async #finishDefinition(isSucceeded: boolean): Promise<void> {
    const definition = await this.#definition()
    if (definition === undefined) return
    const running = definition.status?.conditions?.find(({ type }) => type === 'StorageMigrating')
    const isUnchanged =
      compareInt64(running?.observedGeneration ?? 0, definition.metadata.generation ?? 0) === 0
    const updated = isUnchanged
      ? ' and the stored versions have been updated'
      : ' but the stored versions have not been updated due to a generation mismatch'
    const storage = definition.spec.versions.find(version => version.storage)?.name
    await this.#applyToDefinition({
      status: 'False',
      reason: isSucceeded ? 'MigrationSucceeded' : 'MigrationFailed',
      message: isSucceeded ? `The migration has succeeded${updated}` : 'The migration has failed',
      ...(isSucceeded && isUnchanged && storage !== undefined && { storedVersions: [storage] }),
    })
  }

  /** Only if the definition is the one that was read: another one may have other versions. */
  async #applyToDefinition({ storedVersions, ...condition }: DefinitionState): Promise<void> {
    const { client, signal } = this.#request
    const definition = await this.#definition()
    if (definition === undefined) return
    const { name, resourceVersion, generation } = definition.metadata
    const lastTransitionTime = this.#now()
    const migrating = {
      type: 'StorageMigrating',
      ...condition,
      lastTransitionTime,
      observedGeneration: generation ?? 0,
    }
    const status = { conditions: [migrating], ...(storedVersions && { storedVersions }) }
    const options = { fieldManager: crdFieldManager, force: true, subresource: 'status', signal }
    await client.apply(customResourceDefinitions, { metadata: { name, resourceVersion }, status }, options)
  }

  #fail(message: string): Promise<void> {
    return this.#setCondition('Failed', 'StorageVersionMigrationFailed', message)
  }

  #setCondition(type: string, reason: string, message: string): Promise<void> {
    return this.#writeConditions({ type, status: 'True', reason, message })
  }

  async #writeConditions(condition: Omit<Condition, 'lastTransitionTime'>): Promise<void> {
    const { client, signal } = this.#request
    const { status } = this.#migration
    const conditions = withCondition(status?.conditions, { ...condition, lastTransitionTime: this.#now() })
    const changed = { ...this.#migration, status: { ...status, conditions } }
    await client.updateStatus(storageVersionMigrations, changed, { signal })
  }
}

type Condition = NonNullable<NonNullable<StorageVersionMigration['status']>['conditions']>[0]

interface DefinitionState extends Pick<Condition, 'reason' | 'message'> {
  readonly status: 'True' | 'False'
  readonly storedVersions?: readonly string[]
}

/** Other errors may pass, and are tried again. */
function isFinal(error: unknown): boolean {
  const passing = [
    'ServerTimeout',
    'TooManyRequests',
    'ServiceUnavailable',
    'InternalError',
    'Timeout',
    'Expired',
  ] as const
  return isApiError(error) && !passing.some(reason => isApiError(error, reason))
}
