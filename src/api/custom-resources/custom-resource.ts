/**
 * The resource of one version of a CustomResourceDefinition: a value like those of built-in kinds, which the
 * same handlers serve.
 */
import { decode } from '../decoding/decode.ts'
import { invalid, type FieldError } from '../field-error.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
  JSONSchemaProps,
} from '../generated/apiextensions/v1.ts'
import type { KindRules, ScalePaths } from '../kind-rules.ts'
import { jsonOf, objectOf, type KubernetesObject } from '../metadata.ts'
import type { Resource, Scope, Subresource, Verb } from '../resource.ts'
import type { StructSchema } from '../schema.ts'
import type { JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { compileJsonPath } from '../text/json-path-query.ts'
import { compileDefaulting } from './defaulting.ts'
import { isTerminating } from './definition-status.ts'
import { compileEmbeddedCheck } from './embedded-resources.ts'
import { printerColumnsOf } from './printer-columns.ts'
import { resourceSchemaOf } from './resource-schema.ts'
import { someSchema } from './subschemas.ts'
import { compileListCheck } from './validate-lists.ts'
import { compileSchemaCheck } from './validate-schema.ts'

export interface CustomResourceOptions {
  readonly definition: CustomResourceDefinition
  readonly version: CustomResourceDefinitionVersion
  /** Evaluates `x-kubernetes-validations`. `old` is undefined for a new object. */
  readonly validateExpressions?: (object: JsonObject, old: JsonObject | undefined) => FieldError[]
}

export function customResourceOf(options: CustomResourceOptions): Resource {
  const { definition, version } = options
  const { group, scope, versions } = definition.spec
  const { acceptedNames } = definition.status ?? {}
  const {
    kind,
    plural,
    singular = '',
    listKind,
    shortNames = [],
    categories = [],
  } = acceptedNames ?? definition.spec.names
  const storage = versions.find(each => each.storage) ?? version
  const columns = printerColumnsOf(version.additionalPrinterColumns)
  const schema = resourceSchemaOf(schemaOf(definition, version))
  return {
    group,
    version: version.name,
    kind,
    listKind: listKind || `${kind}List`,
    plural,
    singular: singular || kind.toLowerCase(),
    scope: scope as Scope,
    shortNames,
    categories,
    verbs: isTerminating(definition) ? verbs.filter(verb => verb !== 'create') : verbs,
    schema,
    subresources: subresourcesOf(definition, version),
    storage: { group, version: storage.name },
    rules: rulesOf(options, schema),
    ...(columns && { columns }),
  }
}

const verbs: readonly Verb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
]

const subresourceVerbs: readonly Verb[] = ['get', 'patch', 'update']

/** Undefined if all fields are preserved. */
function schemaOf(
  { spec }: CustomResourceDefinition,
  { schema }: CustomResourceDefinitionVersion,
): JSONSchemaProps | undefined {
  const root = schema?.openAPIV3Schema
  if (root === undefined) return undefined
  return spec.preserveUnknownFields ? { ...root, 'x-kubernetes-preserve-unknown-fields': true } : root
}

function subresourcesOf(
  { spec }: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
): ReadonlyMap<string, Subresource> {
  const { status, scale } = version.subresources ?? {}
  const found = new Map<string, Subresource>()
  const { group, names } = spec
  if (status) {
    found.set('status', {
      name: 'status',
      verbs: subresourceVerbs,
      group,
      version: version.name,
      kind: names.kind,
    })
  }
  if (scale) {
    const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }
    found.set('scale', { name: 'scale', verbs: subresourceVerbs, ...kind })
  }
  return found
}

function rulesOf(options: CustomResourceOptions, resourceSchema: StructSchema): KindRules {
  const { definition, version, validateExpressions } = options
  const schema = schemaOf(definition, version)
  const fill = schema && compileDefaulting(schema)
  const validate = compileValidation(schema, validateExpressions)
  return {
    tracksGeneration: true,
    allowUnconditionalUpdate: false,
    ...(fill && {
      withDefaults: object => withDefaults(object, fill),
      fromStorage: {
        name: `${definition.metadata.uid} ${definition.metadata.generation}`,
        decode: object => withDefaults(pruned(object, resourceSchema), fill),
      },
    }),
    validate: object => validate(object, undefined),
    validateUpdate: validate,
    validateStatusUpdate: validate,
    selectableFields: selectableFieldsOf(version),
    ...(version.subresources?.scale && { scale: scalePathsOf(version.subresources.scale) }),
    ...(version.deprecated && {
      deprecation: 'is deprecated',
      ...(version.deprecationWarning && { deprecationWarning: version.deprecationWarning }),
    }),
  }
}

/** Validation of the definition ensures simple paths: `.spec.replicas`. */
function scalePathsOf(scale: CustomResourceSubresourceScale): ScalePaths {
  const names = (path: string): readonly string[] => path.split('.').slice(1)
  return {
    specReplicas: names(scale.specReplicasPath),
    statusReplicas: names(scale.statusReplicasPath),
    ...(scale.labelSelectorPath && { labelSelector: names(scale.labelSelectorPath) }),
  }
}

function withDefaults(
  object: KubernetesObject,
  fill: ReturnType<typeof compileDefaulting>,
): KubernetesObject {
  const json = jsonOf(object)
  const filled = fill(json)
  return filled === json ? object : objectOf(filled)
}

/** Without the fields that the schema does not have. */
function pruned(object: KubernetesObject, schema: StructSchema): KubernetesObject {
  const json = jsonOf(object)
  const { value } = decode(json, schema, { customResource: true })
  return value === json ? object : objectOf(value)
}

type Validation = (object: KubernetesObject, old: KubernetesObject | undefined) => FieldError[]

/** Errors after which expressions cannot be evaluated: they rely on types, sizes and required fields. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

function compileValidation(
  schema: JSONSchemaProps | undefined,
  validateExpressions: CustomResourceOptions['validateExpressions'] = () => [],
): Validation {
  if (schema === undefined) return () => []
  const checkSchema = compileSchemaCheck(schema)
  const checkEmbedded = compileEmbeddedCheck(schema)
  const checkLists = compileListCheck(schema)
  const hasRules = someSchema(schema, nested => (nested['x-kubernetes-validations']?.length ?? 0) > 0)
  return (object, old) => {
    const json = jsonOf(object)
    const oldJson = old && jsonOf(old)
    const errors = [
      ...checkSchema(json, oldJson),
      ...(checkEmbedded?.(json) ?? []),
      ...(checkLists?.(json) ?? []),
    ]
    if (!errors.some(({ reason }) => blocking.has(reason)))
      return [...errors, ...validateExpressions(json, oldJson)]
    return hasRules ? [...errors, notEvaluated] : errors
  }
}

const notEvaluated = invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; ' +
    'correct the existing errors to complete validation',
)

function selectableFieldsOf({
  selectableFields = [],
}: CustomResourceDefinitionVersion): Readonly<Record<string, (object: KubernetesObject) => string>> {
  return Object.fromEntries(
    selectableFields.map(({ jsonPath }) => {
      const query = compileJsonPath(jsonPath)
      const name = jsonPath.replace(/^\./, '')
      return [name, (object: KubernetesObject) => fieldText(query(jsonOf(object))[0])]
    }),
  )
}

/** Selectable fields are scalars; validation of the definition ensures it. */
function fieldText(value: JsonValue | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}
