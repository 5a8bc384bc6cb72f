/**
 * The GatewayClasses of the controller. A class is accepted even without Gateways, so the process of the controller
 * starts with the first one.
 */
import type { Client, ObjectKey } from '#/client/client.ts'
import { gatewayControllerName } from './gateway-api.ts'
import { gatewayClasses } from './gateway-api/gateway-class.ts'

export const servedGatewayClasses = {
  resource: gatewayClasses,
  definition: gatewayClasses.definition.metadata.name ?? '',
  isServed: async (client: Client, { name }: Pick<ObjectKey, 'name'>) => {
    const found = await client.find(gatewayClasses, { name })
    return found?.spec.controllerName === gatewayControllerName
  },
}
