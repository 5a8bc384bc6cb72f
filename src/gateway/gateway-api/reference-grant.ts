import { defineCustomResource, type InferDefaulted } from '#/custom-resource/custom-resource.ts'
import * as s from '#/custom-resource/schema.ts'
import {
  ageColumn,
  annotations,
  categories,
  gatewayGroup,
  groupName,
  kindName,
  namespaceName,
  objectName,
} from './fields.ts'

const limits = { minItems: 1, maxItems: 16, listType: 'atomic' } as const

const version = {
  additionalPrinterColumns: [ageColumn],
  subresources: {},
  schema: s.object(
    {
      spec: s.object({
        from: s.array(s.object({ group: groupName, kind: kindName, namespace: namespaceName }), {
          ...limits,
          description: 'The objects that may refer to those of `to`.',
        }),
        to: s.array(s.object({ group: groupName, kind: kindName, name: s.optional(objectName) }), {
          ...limits,
          description:
            'The objects of this namespace that may be referred to; without a name all of the kind.',
        }),
      }),
    },
    { description: 'Allows references from other namespaces to objects of this namespace.' },
  ),
} as const

/** The storage version is the one that all releases of the Gateway API serve. */
export const referenceGrants = defineCustomResource({
  group: gatewayGroup,
  names: {
    kind: 'ReferenceGrant',
    plural: 'referencegrants',
    shortNames: ['refgrant'],
    categories: [...categories],
  },
  scope: 'Namespaced',
  annotations,
  versions: { v1: { ...version }, v1beta1: { ...version, storage: true } },
})

export type ReferenceGrant = InferDefaulted<typeof referenceGrants>
