/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const apiextensions = `
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
  exclusiveMinimum maxLength? minLength? pattern maxItems? minItems? uniqueItems multipleOf? enum
  maxProperties? minProperties? required items? allOf oneOf anyOf not? properties additionalProperties?
  patternProperties dependencies additionalItems? definitions externalDocs? example? nullable
  x-kubernetes-preserve-unknown-fields? x-kubernetes-embedded-resource x-kubernetes-int-or-string
  x-kubernetes-list-map-keys x-kubernetes-list-type? x-kubernetes-map-type? x-kubernetes-validations
SelectableField: jsonPath
ServiceReference: namespace name path? port?
ValidationRule: rule message messageExpression reason? fieldPath optionalOldSelf?
WebhookClientConfig: service? caBundle url?
WebhookConversion: 2:clientConfig? conversionReviewVersions
`
