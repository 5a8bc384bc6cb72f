/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, merged, type Overlay } from '../overlay.ts'

export const apiextensionsOverlay: Overlay = {
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
  enums: {
    FieldValueErrorReason: [
      'FieldValueDuplicate',
      'FieldValueForbidden',
      'FieldValueInvalid',
      'FieldValueRequired',
    ],
  },
  enumFields: {
    'ValidationRule.reason': 'FieldValueErrorReason',
  },
  spacedSentences: ['CustomResourceDefinition'],
  resources: {
    customresourcedefinitions: {
      shortNames: ['crd', 'crds'],
      categories: ['api-extensions'],
      hashedVersion: 'v1beta1',
    },
  },
  fieldNumbers: `
CustomResourceColumnDefinition: name type format description priority jsonPath
CustomResourceConversion: strategy webhook?
CustomResourceDefinition: metadata spec status
CustomResourceDefinitionCondition: type status lastTransitionTime reason message observedGeneration
CustomResourceDefinitionList: metadata items
CustomResourceDefinitionNames: plural singular shortNames kind listKind categories
CustomResourceDefinitionSpec: group 3:names scope 7:versions 9:conversion? preserveUnknownFields
CustomResourceDefinitionStatus: conditions! acceptedNames! storedVersions! observedGeneration
CustomResourceDefinitionVersion: name served storage schema? subresources? additionalPrinterColumns deprecated
  deprecationWarning? selectableFields
CustomResourceSubresourceScale: specReplicasPath statusReplicasPath labelSelectorPath?
CustomResourceSubresourceStatus:
CustomResourceSubresources: status? scale?
CustomResourceValidation: openAPIV3Schema?
ExternalDocumentation: description url
JSONSchemaProps: id $schema $ref? description type format title default? maximum? exclusiveMaximum minimum?
  exclusiveMinimum maxLength? minLength? pattern maxItems? minItems? uniqueItems multipleOf? enum?
  maxProperties? minProperties? required items? allOf? oneOf? anyOf? not? properties additionalProperties?
  patternProperties? dependencies? additionalItems? definitions? externalDocs? example? nullable
  x-kubernetes-preserve-unknown-fields? x-kubernetes-embedded-resource x-kubernetes-int-or-string
  x-kubernetes-list-map-keys? x-kubernetes-list-type? x-kubernetes-map-type? x-kubernetes-validations
SelectableField: jsonPath
ServiceReference: namespace name path? port?
ValidationRule: rule message messageExpression reason? fieldPath optionalOldSelf?
WebhookClientConfig: service? caBundle url?
WebhookConversion: 2:clientConfig? conversionReviewVersions
`,
}
