/**
 * The resource of one version of a CustomResourceDefinition: a value like those of built-in kinds, which the
 * same handlers serve.
 */
import type { FieldError } from '../field-error.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceSubresourceScale,
} from '../generated/apiextensions/v1.ts'
import type { KindRules, ScalePaths, VersionConversion } from '../kind-rules.ts'
import { jsonOf, type KubernetesObject } from '../metadata.ts'
import { checkBuiltInFinalizerName, checkFinalizerName } from '../names.ts'
import type { Resource, Scope, Subresource, Verb } from '../resource.ts'
import type { JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { quote } from '../text/quote.ts'
import { compileJsonPath } from '../text/json-path-query.ts'
import { isTerminating } from './definition-status.ts'
import { printerColumnsOf } from './printer-columns.ts'
import { compileValidation } from './validation.ts'
import { compileVersionSchema, type VersionSchema } from './version-schema.ts'

export interface CustomResourceOptions {
  readonly definition: CustomResourceDefinition
  readonly version: CustomResourceDefinitionVersion
  /** The compiled schema of the version. */
  readonly schema?: VersionSchema
  /** Between the versions of the definition. Without it objects are used as they are stored. */
  readonly conversion?: VersionConversion
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
  const schema = options.schema ?? compileVersionSchema(definition, version)
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
    schema: schema.struct,
    subresources: subresourcesOf(definition, version),
    storage: { group, version: storage.name },
    rules: rulesOf(options, schema),
    columns,
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

/** Finalizers of custom resources need not be qualified; new ones that are not get a warning. */
function warningsForFinalizers({ metadata }: KubernetesObject, old: KubernetesObject | undefined): string[] {
  const { finalizers } = metadata
  if (finalizers === undefined || finalizers === old?.metadata.finalizers) return []
  const known = new Set(old?.metadata.finalizers)
  const added = [...new Set(finalizers)].filter(finalizer => !known.has(finalizer)).sort()
  return added.flatMap(finalizer => {
    const head = `metadata.finalizers: ${quote(finalizer)}`
    const warnings = checkFinalizerName(finalizer).map(message => `${head}: ${message}`)
    if (checkBuiltInFinalizerName(finalizer).length === 0) return warnings
    const path = finalizer.includes('.') ? ' including a path (/)' : ''
    const advice = `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other`
    return [...warnings, `${head}: ${advice} finalizer writers`]
  })
}

function rulesOf(options: CustomResourceOptions, schema: VersionSchema): KindRules {
  const { version, conversion } = options
  const validate = compileValidation(options, schema.authored)
  return {
    tracksGeneration: true,
    allowUnconditionalUpdate: false,
    withDefaults: schema.withDefaults,
    ...(conversion && { conversion }),
    validate: (object, metadataErrors) => validate.object(object, undefined, metadataErrors),
    validateUpdate: validate.object,
    validateStatusUpdate: validate.status,
    warnings: warningsForFinalizers,
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
