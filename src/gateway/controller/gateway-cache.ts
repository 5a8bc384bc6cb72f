/**
 * Caches of everything that the plan depends on. Without Gateways there are only watches of the definitions
 * and of the objects of the Gateway API. Changes of Services and endpoints that the last plan did not look
 * up cause no new plan.
 */
import type { ConfigMap, Namespace, Secret, Service } from '#/api/generated/core/v1.ts'
import { configMaps, namespaces, secrets, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { controllerOf, keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Client } from '#/client/client.ts'
import type { Index } from '#/client/indexer.ts'
import { Informer } from '#/client/informer.ts'
import type { CustomResource } from '#/custom-resource/custom-resource.ts'
import type { Platform } from '#/platform/platform.ts'
import { backendTlsPolicies } from '../gateway-api/backend-tls-policy.ts'
import { gatewayClasses } from '../gateway-api/gateway-class.ts'
import { gateways } from '../gateway-api/gateway.ts'
import { grpcRoutes } from '../gateway-api/grpc-route.ts'
import { httpRoutes } from '../gateway-api/http-route.ts'
import { referenceGrants } from '../gateway-api/reference-grant.ts'
import { isGatewaySlice, isGatewayService, recordedPorts } from '../plan/gateway-service.ts'
import type { GatewayWorld, References } from '../plan/world.ts'
import { CustomResourceInformer } from './custom-resource-informer.ts'
import { NamespaceInformers } from './namespace-informers.ts'

export interface GatewayCacheOptions {
  readonly platform: Platform
  readonly client: Client
  readonly nodeAddress: string
  readonly nodeName?: string
  /** Called after changes that may change the plan. */
  readonly onChange: () => void
}

interface CoreInformers {
  readonly namespaces: Informer<Namespace>
  readonly services: Informer<Service>
  readonly endpointSlices: Informer<EndpointSlice>
  readonly slicesOfService: Index<Stored<EndpointSlice>>
  readonly gatewayServices: Index<Stored<Service>>
  readonly gatewaySlices: Index<Stored<EndpointSlice>>
}

export class GatewayCache {
  readonly #options: GatewayCacheOptions
  readonly #secrets: NamespaceInformers<Secret>
  readonly #configMaps: NamespaceInformers<ConfigMap>
  readonly #runs = new Set<Promise<void>>()
  readonly gatewayClasses
  readonly gateways
  readonly httpRoutes
  readonly grpcRoutes
  readonly backendTlsPolicies
  readonly #referenceGrants
  #core: CoreInformers | undefined
  /** Of the last plan; undefined before the first one. */
  #references: References | undefined

  constructor(options: GatewayCacheOptions) {
    this.#options = options
    const fieldSelector = 'type=kubernetes.io/tls'
    this.#secrets = new NamespaceInformers({ ...options, resource: secrets, fieldSelector })
    this.#configMaps = new NamespaceInformers({ ...options, resource: configMaps })
    this.gatewayClasses = this.#customResource(gatewayClasses)
    this.gateways = this.#customResource(gateways)
    this.httpRoutes = this.#customResource(httpRoutes)
    this.grpcRoutes = this.#customResource(grpcRoutes)
    this.backendTlsPolicies = this.#customResource(backendTlsPolicies)
    this.#referenceGrants = this.#customResource(referenceGrants)
  }

  get hasSynced(): boolean {
    const { namespaces: ofNamespaces, services: ofServices, endpointSlices: ofSlices } = this.#core ?? {}
    const core = [ofNamespaces, ofServices, ofSlices].every(informer => informer?.hasSynced ?? true)
    const named = this.#secrets.hasSynced && this.#configMaps.hasSynced
    return core && named && this.#customResources().every(each => each.hasSynced)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#customResources().map(each => each.run(signal)))
    await Promise.all(this.#runs)
    await Promise.all([this.#secrets.stopped(), this.#configMaps.stopped()])
  }

  /** Follows the objects that a plan has looked up. */
  follow(references: References, signal: AbortSignal): void {
    this.#references = references
    this.#secrets.follow(references.secrets, signal)
    this.#configMaps.follow(references.configMaps, signal)
    if (this.#core === undefined && this.gateways.list().length > 0) this.#startCore(signal)
  }

  /** Undefined until everything is known. `planned` are the ports of the last plan. */
  world(planned: ReadonlyMap<string, number>): GatewayWorld | undefined {
    if (!this.#customResources().every(each => each.hasSynced)) return undefined
    const core = this.#core
    return {
      gatewayClasses: this.gatewayClasses.list(),
      gateways: this.gateways.list(),
      httpRoutes: this.httpRoutes.list(),
      grpcRoutes: this.grpcRoutes.list(),
      referenceGrants: this.#referenceGrants.list(),
      backendTlsPolicies: this.backendTlsPolicies.list(),
      namespaceLabels: name => {
        const namespace = core?.namespaces.get(name)
        return namespace && (namespace.metadata.labels ?? {})
      },
      service: key => core?.services.get(key),
      gatewayServices: core?.gatewayServices.get(own) ?? [],
      endpointSlices: key => core?.slicesOfService.get(key) ?? [],
      secret: key => this.#secrets.get(key),
      configMap: key => this.#configMaps.get(key),
      nodeAddress: this.#options.nodeAddress,
      nodeName: this.#options.nodeName,
      allocatedPorts: new Map([...this.#recordedPorts(), ...planned]),
    }
  }

  service(key: string): Stored<Service> | undefined {
    return this.#core?.services.get(key)
  }

  endpointSlice(key: string): Stored<EndpointSlice> | undefined {
    return this.#core?.endpointSlices.get(key)
  }

  /**
   * By `namespace/name:port` of the Gateway; ports of Gateways that are gone are reserved while the slice
   * exists.
   */
  #recordedPorts(): ReadonlyMap<string, number> {
    const ports = new Map<string, number>()
    for (const slice of this.#core?.gatewaySlices.get(own) ?? []) {
      const service = this.#core?.services.get(keyOf(slice))
      const gateway = service && controllerOf(service)
      const key = gateway ? `${slice.metadata.namespace}/${gateway.name}` : `slice ${keyOf(slice)}`
      for (const { port, nodePort } of recordedPorts(slice)) ports.set(`${key}:${port}`, nodePort)
    }
    return ports
  }

  #startCore(signal: AbortSignal): void {
    const { platform, client, onChange } = this.#options
    const ofNamespaces = new Informer({ platform, client, resource: namespaces })
    const ofServices = new Informer({ platform, client, resource: services })
    const ofSlices = new Informer({ platform, client, resource: endpointSlices })
    this.#core = {
      namespaces: ofNamespaces,
      services: ofServices,
      endpointSlices: ofSlices,
      slicesOfService: ofSlices.index('service', slice => [serviceKeyOf(slice)]),
      gatewayServices: ofServices.index('gateway', service => (isGatewayService(service) ? [own] : [])),
      gatewaySlices: ofSlices.index('gateway', slice => (isGatewaySlice(slice) ? [own] : [])),
    }
    ofNamespaces.addEventHandler((_key, { oldObject, newObject }) => {
      if (!equalJson(oldObject?.metadata.labels, newObject?.metadata.labels)) onChange()
    })
    ofServices.addEventHandler((key, { oldObject, newObject }) => {
      const isOwn = [oldObject, newObject].some(each => each && isGatewayService(each))
      if (isOwn || this.#references?.services.has(key)) onChange()
    })
    ofSlices.addEventHandler((_key, { oldObject, newObject }) => {
      const both = [oldObject, newObject].filter(each => each !== undefined)
      if (both.some(each => isGatewaySlice(each) || this.#references?.services.has(serviceKeyOf(each))))
        onChange()
    })
    for (const informer of [ofNamespaces, ofServices, ofSlices]) {
      this.#runs.add(informer.run(signal))
      informer.waitForSync(signal).then(onChange, () => undefined)
    }
  }

  #customResource<T extends KubernetesObject, D extends KubernetesObject>(
    resource: CustomResource<T, D>,
  ): CustomResourceInformer<T, D> {
    const { platform, client, onChange } = this.#options
    return new CustomResourceInformer({ platform, client, resource, onChange })
  }

  #customResources() {
    const routes = [this.httpRoutes, this.grpcRoutes] as const
    const policies = [this.#referenceGrants, this.backendTlsPolicies] as const
    return [this.gatewayClasses, this.gateways, ...routes, ...policies] as const
  }
}

/** The only value of the indexes of own objects. */
const own = 'own'

function serviceKeyOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace}/${metadata.labels?.['kubernetes.io/service-name'] ?? ''}`
}
