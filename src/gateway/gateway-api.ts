/**
 * The kinds of the Gateway API, defined in TypeScript from the documentation of the API:
 * https://gateway-api.sigs.k8s.io/reference/spec/. The controller reads objects of these definitions and of
 * the official ones alike.
 */
import type { CustomResourceDefinition } from '#/custom-resource/custom-resource.ts'
import { backendTlsPolicies } from './gateway-api/backend-tls-policy.ts'
import { gatewayClasses, type GatewayClass } from './gateway-api/gateway-class.ts'
import { gateways } from './gateway-api/gateway.ts'
import { grpcRoutes } from './gateway-api/grpc-route.ts'
import { httpRoutes } from './gateway-api/http-route.ts'
import { referenceGrants } from './gateway-api/reference-grant.ts'

/** The controller of the GatewayClasses that k8ts implements. */
export const gatewayControllerName = 'k8ts.io/gateway-controller'

export const gatewayApiDefinitions: readonly CustomResourceDefinition[] = [
  gatewayClasses,
  gateways,
  httpRoutes,
  grpcRoutes,
  referenceGrants,
  backendTlsPolicies,
].map(({ definition }) => definition)

/** The class that `k8ts addon enable gateway-api` creates. */
export const defaultGatewayClass = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'k8ts' },
  spec: { controllerName: gatewayControllerName, description: 'Gateways of the cluster, served by k8ts' },
} as const satisfies Partial<GatewayClass>
