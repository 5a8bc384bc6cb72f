import type { ConfigMap, Secret, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Labels } from '#/api/labels.ts'
import type { BackendTLSPolicy } from '../gateway-api/backend-tls-policy.ts'
import type { GatewayClass } from '../gateway-api/gateway-class.ts'
import type { Gateway } from '../gateway-api/gateway.ts'
import type { GRPCRoute } from '../gateway-api/grpc-route.ts'
import type { HTTPRoute } from '../gateway-api/http-route.ts'
import type { ReferenceGrant } from '../gateway-api/reference-grant.ts'

/** Everything that the plan depends on. Keys are `namespace/name`. */
export interface GatewayWorld {
  readonly gatewayClasses: readonly Stored<GatewayClass>[]
  readonly gateways: readonly Stored<Gateway>[]
  readonly httpRoutes: readonly Stored<HTTPRoute>[]
  readonly grpcRoutes: readonly Stored<GRPCRoute>[]
  readonly referenceGrants: readonly Stored<ReferenceGrant>[]
  readonly backendTlsPolicies: readonly Stored<BackendTLSPolicy>[]
  /** Labels of a namespace; undefined if it does not exist. */
  readonly namespaceLabels: (name: string) => Labels | undefined
  readonly service: (key: string) => Service | undefined
  /** The Services that were created for Gateways. */
  readonly gatewayServices: readonly Stored<Service>[]
  readonly endpointSlices: (serviceKey: string) => readonly EndpointSlice[]
  readonly configMap: (key: string) => ConfigMap | undefined
  readonly secret: (key: string) => Secret | undefined
  /** The address that the reverse proxy listens on. */
  readonly nodeAddress: string
  /** Of the node of the reverse proxy, if it is one of the cluster. */
  readonly nodeName: string | undefined
  /** Ports of the node in use by listeners, by `namespace/name:port` of the Gateway. */
  readonly allocatedPorts: ReadonlyMap<string, number>
}

/** Objects that the plan looked up, so that the controller follows them. Keys are `namespace/name`. */
export interface References {
  readonly services: Set<string>
  readonly secrets: Set<string>
  readonly configMaps: Set<string>
}

export type Route = Stored<HTTPRoute> | Stored<GRPCRoute>

export type RouteKind = 'HTTPRoute' | 'GRPCRoute'

export type Listener = Gateway['spec']['listeners'][number]

export type ParentReference = NonNullable<HTTPRoute['spec']['parentRefs']>[number]
