/**
 * Serves custom resources: maintains the status of CustomResourceDefinitions, keeps the resources of established
 * ones in the scheme, and deletes all instances of a definition before it goes. Every API server does this
 * for itself; their writes of the status are the same.
 */
import type { Backoff } from '#/base/backoff.ts'
import { customResourceOf } from '#/api/custom-resources/custom-resource.ts'
import {
  cleanupFinalizer,
  isEstablished,
  isTerminating,
  planDefinitionStatus,
} from '#/api/custom-resources/definition-status.ts'
import { versionConversionOf } from '#/api/custom-resources/version-conversion.ts'
import { compileVersionSchema } from '#/api/custom-resources/version-schema.ts'
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { hasFinalizer, isBeingDeleted, withoutFinalizer, type Stored } from '#/api/metadata.ts'
import type { GroupVersionResource, Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import type { WebhookCredentials } from '#/kubeconfig/webhook-kubeconfig.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import { WebhookClient } from '../webhook-client.ts'
import type { JsonSchema } from '../openapi/json-schema.ts'
import type { CacheEvent } from '../registry/cache-event.ts'
import { deleteObject } from '../registry/delete-object.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'
import { SyncLoop } from '../sync-loop.ts'
import { conversionWebhookOf, type ConversionClient } from './conversion-webhook.ts'
import { evaluateObjectRules } from './evaluate-rules.ts'
import { ruleNodeOf } from './validation-rules.ts'

/** After a failure to sync a definition. */
const retryBackoff: Backoff = { initialMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0 }

type Definition = Stored<CustomResourceDefinition>

/** The resources that a definition has in the scheme. */
interface Served {
  /** What they were made from: most changes of a definition are of its conditions. */
  readonly source: string
  readonly resources: readonly Resource[]
}

export class CustomResources {
  readonly #registry: Registry
  readonly #webhooks: ConversionClient
  readonly #served = new Map<string, Served>()
  readonly #schemas = new WeakMap<Resource, JsonSchema>()
  /** Names of all definitions by group, and of those that were deleted until they are synced. */
  readonly #names = new Map<string, Set<string>>()
  /** Names of definitions to sync, by group. */
  readonly #pending = new Map<string, Set<string>>()
  /** Syncs one group at a time, because its definitions may claim the same names. */
  readonly #loop: SyncLoop
  /** Ends the wait for the instances of a definition that is being deleted, by its name. */
  readonly #waits = new Map<string, () => void>()

  /** The registry's admission must admit everything: the writes are those of the server itself. */
  constructor(registry: Registry, connectHttp: HttpConnect | undefined) {
    this.#registry = registry
    const { platform, cache } = registry
    const client = new WebhookClient({ platform, cache, ...(connectHttp && { connectHttp }) }, noCredentials)
    const { random, clock } = platform
    this.#webhooks = { client, random, clock, metrics: registry.metrics }
    this.#loop = new SyncLoop({
      platform,
      failureMessage: 'Failed to sync CustomResourceDefinitions',
      keyName: 'group',
      backoff: retryBackoff,
      sync: (group, signal) => this.#syncGroup(group, signal),
    })
  }

  /** The schema of a custom resource as its author wrote it. */
  authoredSchema(resource: Resource): JsonSchema | undefined {
    return this.#schemas.get(resource)
  }

  /** Registers the definitions that are established already. One that cannot be served does not stop the others. */
  load(): void {
    const { log } = this.#registry.platform
    for (const { object } of this.#stored()) {
      try {
        this.#serve(object as Definition)
      } catch (error) {
        const customResourceDefinition = object.metadata.name
        log.warn('Failed to serve CustomResourceDefinition', { customResourceDefinition, error })
      }
    }
  }

  /** Follows the definitions until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { cache } = this.#registry
    const subscriber = {
      onEvents: (events: readonly CacheEvent[]) => this.#note(events),
      onReset: () => this.#addAll(),
    }
    cache.subscribe(definitionsPrefix, subscriber)
    this.#addAll()
    await this.#loop.run(signal)
    cache.unsubscribe(definitionsPrefix, subscriber)
    for (const endWait of this.#waits.values()) endWait()
    this.#webhooks.client.close()
  }

  #note(events: readonly CacheEvent[]): void {
    this.#add(events.map(nameOf))
    // Names that a definition gives up may be what another one of its group waits for.
    for (const event of events) {
      if (event.current === undefined) this.#add([...(this.#names.get(groupOf(nameOf(event))) ?? [])])
    }
  }

  #addAll(): void {
    this.#add(this.#stored().map(nameOf))
    this.#add([...this.#served.keys()])
  }

  #add(names: readonly string[]): void {
    for (const name of names) {
      const group = groupOf(name)
      this.#names.getOrInsertComputed(group, () => new Set()).add(name)
      this.#pending.getOrInsertComputed(group, () => new Set()).add(name)
      this.#loop.add(group)
    }
  }

  async #syncGroup(group: string, signal: AbortSignal): Promise<undefined> {
    const names = this.#pending.get(group) ?? []
    this.#pending.delete(group)
    const failures: unknown[] = []
    for (const name of names) {
      if (signal.aborted) return
      try {
        await this.#sync(name)
      } catch (error) {
        if (isApiError(error, 'NotFound')) continue
        this.#pending.getOrInsertComputed(group, () => new Set()).add(name)
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  async #sync(name: string): Promise<void> {
    const definition = this.#definition(name)
    if (definition === undefined) {
      this.#forget(name)
      return this.#withdraw(name)
    }
    if (isBeingDeleted(definition)) {
      this.#serve(definition)
      return this.#finalize(definition)
    }
    await this.#updateStatus(definition)
    this.#serve(definition)
  }

  async #updateStatus(definition: Definition): Promise<void> {
    const names = this.#names.get(definition.spec.group) ?? []
    const others = Array.from(names, name => this.#definition(name)).filter(other => other !== undefined)
    const now = formatTime(this.#registry.platform.clock.now())
    const plan = (current: CustomResourceDefinition) => planDefinitionStatus(current, others, now)
    if (plan(definition) === definition) return
    await updateObject(this.#registry, statusRequest(definition), {
      change: current => plan(current as CustomResourceDefinition),
    })
  }

  /** Puts the resources of an established definition into the scheme. */
  #serve(definition: Definition): void {
    const { name, uid, generation } = definition.metadata
    if (!isEstablished(definition)) return this.#withdraw(name)
    const before = this.#served.get(name)
    const { acceptedNames } = definition.status ?? {}
    const source = JSON.stringify([uid, Number(generation), acceptedNames, isTerminating(definition)])
    if (before?.source === source) return
    const schemas = new Map(
      definition.spec.versions.map(version => [version.name, compileVersionSchema(definition, version)]),
    )
    const webhook = conversionWebhookOf(definition, this.#webhooks)
    const conversion = versionConversionOf({ definition, schemas, ...(webhook && { webhook }) })
    const resources = definition.spec.versions
      .filter(version => version.served)
      .map(version => {
        const schema = version.schema?.openAPIV3Schema
        const rules = schema && ruleNodeOf(schema, true)
        const resource = customResourceOf({
          definition,
          version,
          schema: schemas.get(version.name)!,
          conversion,
          ...(rules && { validateExpressions: (value, old) => evaluateObjectRules(rules, value, old) }),
        })
        if (schema) this.#schemas.set(resource, schema as JsonSchema)
        return resource
      })
    const remove = (before?.resources ?? []).map(resourceKey)
    this.#registry.scheme.change({ add: resources, remove })
    this.#served.set(name, { source, resources })
  }

  #withdraw(name: string): void {
    const served = this.#served.get(name)
    if (served === undefined) return
    this.#registry.scheme.change({ remove: served.resources.map(resourceKey) })
    this.#served.delete(name)
  }

  /** Deletes all instances; once none is left, the finalizer is removed. */
  async #finalize(definition: Definition): Promise<void> {
    if (!hasFinalizer(definition, cleanupFinalizer)) return
    // Instances are stored whether or not a version is served.
    const version = definition.spec.versions.find(each => each.storage)
    const wasServed = version !== undefined && isEstablished(definition)
    const left = wasServed ? await this.#deleteInstances(definition, version) : 0
    if (left > 0) {
      await this.#setTerminating(definition, deletionInProgress)
      return
    }
    this.#waits.get(definition.metadata.name)?.()
    await this.#setTerminating(definition, deletionCompleted)
    await updateObject(
      this.#registry,
      systemWriteRequest(customResourceDefinitions, definition.metadata.name),
      {
        change: current => withoutFinalizer(current, cleanupFinalizer),
      },
    )
  }

  /** Returns how many instances are left, because finalizers hold them. */
  async #deleteInstances(definition: Definition, version: CustomResourceDefinitionVersion): Promise<number> {
    const resource = customResourceOf({ definition, version })
    const prefix = prefixOf(resource, '')
    const { cache } = this.#registry
    for (const { object } of cache.list(prefix)) {
      const { name, namespace = '' } = object.metadata
      if (isBeingDeleted(object)) continue
      try {
        await deleteObject(this.#registry, systemWriteRequest(resource, name, namespace), deleteOptions)
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error
      }
    }
    await cache.waitForLatest()
    const left = cache.countAfter(prefix, prefix)
    if (left > 0) this.#waitForInstances(definition.metadata.name, prefix)
    return left
  }

  /** Syncs the definition again when instances are gone. */
  #waitForInstances(name: string, prefix: string): void {
    if (this.#waits.has(name)) return
    const { cache } = this.#registry
    const subscriber = {
      onEvents: (events: readonly CacheEvent[]) => {
        if (events.some(({ current }) => current === undefined)) this.#add([name])
      },
      onReset: () => this.#add([name]),
    }
    cache.subscribe(prefix, subscriber)
    this.#waits.set(name, () => {
      cache.unsubscribe(prefix, subscriber)
      this.#waits.delete(name)
    })
  }

  async #setTerminating(definition: Definition, terminating: TerminatingCondition): Promise<void> {
    const lastTransitionTime = formatTime(this.#registry.platform.clock.now())
    const condition = { type: 'Terminating', ...terminating, lastTransitionTime }
    await updateObject(this.#registry, statusRequest(definition), {
      change: object => {
        const current = object as CustomResourceDefinition
        const conditions = withCondition(current.status?.conditions, condition)
        return conditions === current.status?.conditions
          ? current
          : ({ ...current, status: { ...current.status, conditions } } as CustomResourceDefinition)
      },
    })
  }

  #forget(name: string): void {
    const names = this.#names.get(groupOf(name))
    names?.delete(name)
    if (names?.size === 0) this.#names.delete(groupOf(name))
  }

  #definition(name: string): Definition | undefined {
    const stored = this.#registry.cache.get(keyOf(customResourceDefinitions, '', name))
    return stored?.object as Definition | undefined
  }

  #stored(): readonly StoredObject[] {
    return [...this.#registry.cache.list(definitionsPrefix)]
  }
}

/** Conversion webhooks are called without credentials. */
const noCredentials = async (): Promise<WebhookCredentials> => ({ users: new Map() })

/** The name of a definition is `plural.group`. */
function groupOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

function nameOf({ key }: Pick<CacheEvent, 'key'>): string {
  return key.slice(definitionsPrefix.length)
}

const definitionsPrefix = prefixOf(customResourceDefinitions, '')

const deleteOptions = { gracePeriodSeconds: undefined, propagationPolicy: undefined, preconditions: {} }

function statusRequest({ metadata: { name } }: Definition) {
  return { ...systemWriteRequest(customResourceDefinitions, name), subresource: 'status' }
}

function resourceKey({ group, version, plural }: Resource): GroupVersionResource {
  return { group, version, resource: plural }
}

type TerminatingCondition = Readonly<Record<'status' | 'reason' | 'message', string>>

const deletionInProgress: TerminatingCondition = {
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}

/** Other finalizers may hold the definition. */
const deletionCompleted: TerminatingCondition = {
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
}
