/**
 * Maintains the `Available` condition of APIServices. The check of an extension server is triggered by changes of
 * its APIService, Service and EndpointSlices, and repeated periodically because its health cannot be watched.
 */
import type { APIService } from '#/api/generated/apiregistration/v1.ts'
import { apiServices } from '#/api/generated/apiregistration/v1-resources.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { localAvailability } from '#/api/api-service-status.ts'
import { conditionOf, withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Backoff } from '#/base/backoff.ts'
import { getCached, listCached } from '../admission/lookup.ts'
import type { ServiceName } from '../service-address.ts'
import { describeFailure } from '../webhook-failure.ts'
import type { Metrics } from '../metrics.ts'
import type { CacheEvent } from '../registry/cache-event.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { updateObject } from '../registry/update-object.ts'
import type { UserInfo } from '../request.ts'
import type { ApiServices, RemoteApiService } from './api-services.ts'
import type { ExtensionServer, ExtensionServers } from './extension-servers.ts'
import { failedDiscoveryCheck, passed, planAvailability, type Availability } from './plan-availability.ts'
import { SyncLoop } from '../sync-loop.ts'

export interface AvailabilityOptions {
  /** The registry's admission must admit everything: the writes are those of the server itself. */
  readonly registry: Registry
  readonly apiServices: ApiServices
  readonly servers: ExtensionServers
  readonly metrics: Pick<Metrics, 'apiServiceUnavailable'> | undefined
}

export class AvailabilityController {
  readonly #options: AvailabilityOptions
  readonly #loop: SyncLoop

  constructor(options: AvailabilityOptions) {
    this.#options = options
    this.#loop = new SyncLoop({
      platform: options.registry.platform,
      failureMessage: 'APIService availability check failed',
      keyName: 'apiService',
      backoff: checkBackoff,
      sync: (name, signal) => this.#sync(name, signal),
    })
  }

  /** Checks all APIServices and follows their changes until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { registry, apiServices } = this.#options
    apiServices.onChange((name, { before, after }) => {
      // Changes of the message alone do not count: it may differ from endpoint to endpoint.
      if (before?.server !== after?.server || before?.isAvailable !== after?.isAvailable) this.#loop.add(name)
    })
    const checkAll = (): void => {
      for (const { name } of apiServices.all()) this.#loop.add(name)
    }
    const subscriptions = [
      [servicesPrefix, nameInKey] as const,
      [endpointSlicesPrefix, serviceOfSlice] as const,
    ].map(([prefix, serviceOf]) => {
      const onEvents = (events: readonly CacheEvent[]): void => {
        for (const event of events) this.#serviceChanged(serviceOf(event))
      }
      return { prefix, subscriber: { onEvents, onReset: checkAll } }
    })
    for (const { prefix, subscriber } of subscriptions) registry.cache.subscribe(prefix, subscriber)
    checkAll()
    await this.#loop.run(signal)
    for (const { prefix, subscriber } of subscriptions) registry.cache.unsubscribe(prefix, subscriber)
  }

  #serviceChanged({ namespace, name }: Pick<ServiceName, 'namespace' | 'name'>): void {
    for (const remote of this.#options.apiServices.remotes()) {
      const { service } = remote.server
      if (service.namespace === namespace && service.name === name) this.#loop.add(remote.name)
    }
  }

  async #sync(name: string, signal: AbortSignal): Promise<number | undefined> {
    const apiService = this.#options.apiServices.get(name)
    if (apiService === undefined) return undefined
    if (apiService.server === undefined) {
      await this.#write(name, localAvailability)
      return undefined
    }
    const remote = { ...apiService, server: apiService.server }
    const availability = await this.#check(remote, signal)
    await this.#write(name, availability)
    if (availability.reason === 'FailedDiscoveryCheck') throw new Error(availability.message)
    return recheckMs
  }

  async #check(remote: RemoteApiService, signal: AbortSignal): Promise<Availability> {
    const { registry } = this.#options
    const { namespace, name } = remote.server.service
    const planned = planAvailability({
      reference: remote.server.service,
      service: getCached(registry, services, { namespace, name }),
      slices: listCached(registry, endpointSlices, namespace).filter(
        ({ metadata }) => metadata.labels?.[serviceNameLabel] === name,
      ),
    })
    return planned ?? this.#probe(remote, signal)
  }

  /** Asks several endpoints at once; one that answers is enough. */
  async #probe(remote: RemoteApiService, signal: AbortSignal): Promise<Availability> {
    try {
      const endpoints = new Map<string, ExtensionServer>()
      for (let draw = 0; draw < probeDraws; draw++) {
        const server = this.#options.servers.locate(remote.server)
        endpoints.set(server.host, server)
      }
      await Promise.any(Array.from(endpoints.values(), server => this.#probeEndpoint(remote, server, signal)))
      return passed
    } catch (error) {
      signal.throwIfAborted()
      const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error]
      return failedDiscoveryCheck(first instanceof Error ? first.message : String(first))
    }
  }

  /** Requests a document that every extension server must have. Rejects with the reason of the failure. */
  async #probeEndpoint(
    { group, version }: RemoteApiService,
    server: ExtensionServer,
    signal: AbortSignal,
  ): Promise<void> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const url = `https://${server.host}${path}`
    const failure = (why: string): Error => new Error(`failing or missing response from ${url}: ${why}`)
    let status: number
    try {
      const request = { path, user: aggregator, timeoutMs: probeTimeoutMs, answerBytesMax, signal }
      ;({ status } = await this.#options.servers.request(server, request))
    } catch (error) {
      throw failure(`Get ${quote(url)}: ${describeFailure(error, server.host)}`)
    }
    if (status < 200 || status > 299) throw failure(`bad status from ${url}: ${status}`)
  }

  async #write(name: string, { status, reason, message }: Availability): Promise<void> {
    const { registry, metrics } = this.#options
    const { clock, log } = registry.platform
    const stored = registry.cache.get(keyOf(apiServices, '', name))?.object as APIService | undefined
    const lastTransitionTime = formatTime(clock.now())
    const condition = { type: 'Available', status, reason, message, lastTransitionTime }
    const before = conditionOf(stored?.status?.conditions, 'Available')
    if (before?.status === status && before.reason === reason && before.message === message) return
    const request = { ...systemWriteRequest(apiServices, name), subresource: 'status' }
    try {
      await updateObject(registry, request, {
        change: object => {
          const current = object as APIService
          const conditions = withCondition(current.status?.conditions, condition)
          return { ...current, status: { ...current.status, conditions } } as APIService
        },
      })
      log.info('changing APIService availability', { apiService: name, status, reason, message })
      if (before?.status === 'True' && status !== 'True') metrics?.apiServiceUnavailable(name, reason)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

/** The identity of the aggregator, with access to every discovery document. */
export const aggregator: UserInfo = { username: 'system:kube-aggregator', groups: ['system:masters'] }

/** Time between checks without a change. */
const recheckMs = 30_000

/** Between checks of a server that does not answer. Changes of its service trigger a check at once. */
const checkBackoff: Backoff = { initialMs: 250, maxMs: 30_000, factor: 2, jitter: 0 }

const probeTimeoutMs = 5_000

/** Endpoints are drawn at random; the same may be drawn several times. */
const probeDraws = 5

/** Only the status matters, but a connection is reused only after its response was read. */
const answerBytesMax = 4 * 1024 * 1024

const serviceNameLabel = 'kubernetes.io/service-name'
const servicesPrefix = prefixOf(services, '')
const endpointSlicesPrefix = prefixOf(endpointSlices, '')

function nameInKey({ key }: CacheEvent): Pick<ServiceName, 'namespace' | 'name'> {
  const [namespace = '', name = ''] = key.slice(servicesPrefix.length).split('/')
  return { namespace, name }
}

function serviceOfSlice({ current, previous }: CacheEvent): Pick<ServiceName, 'namespace' | 'name'> {
  const { namespace = '', labels = {} } = (current ?? previous)?.object.metadata ?? {}
  return { namespace, name: labels[serviceNameLabel] ?? '' }
}
