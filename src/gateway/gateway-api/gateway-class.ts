import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  ageColumn,
  annotations,
  categories,
  controllerName,
  gatewayGroup,
  groupName,
  initialConditions,
  kindName,
  namespaceName,
  objectName,
  pendingConditions,
} from './fields.ts'

const pending = pendingConditions('Accepted')

const version = {
  subresources: { status: {} },
  additionalPrinterColumns: [
    { name: 'Controller', type: 'string', jsonPath: '.spec.controllerName' },
    { name: 'Accepted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' },
    ageColumn,
    { name: 'Description', type: 'string', jsonPath: '.spec.description', priority: 1 },
  ],
  schema: s.object(
    {
      spec: s.object({
        controllerName: s.string({
          ...controllerName,
          description: 'The controller that implements the Gateways of the class, as a domain and a path.',
          validations: [{ rule: 'self == oldSelf', message: 'the controller of a class cannot be changed' }],
        }),
        description: s.optional(s.string({ maxLength: 64 })),
        parametersRef: s.optional(
          s.object({
            group: groupName,
            kind: kindName,
            name: objectName,
            namespace: s.optional(namespaceName),
          }),
        ),
      }),
      status: s.object(
        {
          conditions: initialConditions(pending),
          supportedFeatures: s.optional(
            s.array(s.object({ name: s.string() }), {
              maxItems: 64,
              listType: 'map',
              listMapKeys: ['name'],
              description: 'The features that the class supports, by name.',
            }),
          ),
        },
        { default: { conditions: pending } },
      ),
    },
    { description: 'A class of Gateways that have the same controller and configuration.' },
  ),
} as const

export const gatewayClasses = defineCustomResource({
  group: gatewayGroup,
  names: { kind: 'GatewayClass', plural: 'gatewayclasses', shortNames: ['gc'], categories: [...categories] },
  scope: 'Cluster',
  annotations,
  versions: { v1: { ...version, storage: true }, v1beta1: { ...version } },
})

export type GatewayClass = InferDefaulted<typeof gatewayClasses>
