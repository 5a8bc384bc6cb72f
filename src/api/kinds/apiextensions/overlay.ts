import { keyed, merged, type Overlay } from '../overlay.ts'

export const apiextensions: Overlay = {
  types: {
    'CustomResourceSubresources.status': 'apiextensions.v1.CustomResourceSubresourceStatus',
    'JSONSchemaProps.additionalItems': 'apiextensions.v1.JSONSchemaPropsOrBool',
    'JSONSchemaProps.additionalProperties': 'apiextensions.v1.JSONSchemaPropsOrBool',
    'JSONSchemaProps.default': 'apiextensions.v1.JSON',
    'JSONSchemaProps.dependencies': 'apiextensions.v1.JSONSchemaPropsOrStringArray',
    'JSONSchemaProps.enum': 'apiextensions.v1.JSON',
    'JSONSchemaProps.example': 'apiextensions.v1.JSON',
    'JSONSchemaProps.items': 'apiextensions.v1.JSONSchemaPropsOrArray',
  },
  definitions: {
    'apiextensions.v1.CustomResourceSubresourceStatus': 'struct',
    'apiextensions.v1.JSON': 'any',
    'apiextensions.v1.JSONSchemaPropsOrArray': 'any',
    'apiextensions.v1.JSONSchemaPropsOrBool': 'any',
    'apiextensions.v1.JSONSchemaPropsOrStringArray': 'any',
  },
  merging: {
    'CustomResourceDefinitionStatus.conditions': keyed('type'),
    'JSONSchemaProps.x-kubernetes-validations': merged('rule'),
  },
  resources: {
    customresourcedefinitions: { shortNames: ['crd', 'crds'], categories: ['api-extensions'] },
  },
}
