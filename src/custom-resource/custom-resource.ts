/**
 * Custom resources as values for clients. `defineCustomResource` makes the CustomResourceDefinition and the
 * typed `Resource` from one definition; `k8ts generate crd` writes the former as YAML. `customResource` is the
 * resource of a CustomResourceDefinition that others wrote, for the output of `k8ts generate types`.
 *
 * ```ts
 * export const widgets = defineCustomResource({
 *   group: 'example.com',
 *   names: { kind: 'Widget', plural: 'widgets' },
 *   scope: 'Namespaced',
 *   versions: { v1: { schema: s.object({ spec: s.object({ size: s.integer({ default: 1 }) }) }) } },
 * })
 * export type Widget = Infer<typeof widgets>
 *
 * const widget = await client.get(widgets, { namespace: 'default', name: 'first' })
 * ```
 */
import { compileDefaulting } from '#/api/custom-resources/defaulting.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceSubresources,
  CustomResourceDefinitionVersion,
} from '#/api/generated/apiextensions/v1.ts'
import { jsonOf, objectOf, type KubernetesObject, type ObjectMeta } from '#/api/metadata.ts'
import type { Resource, Scope, Subresource, Verb } from '#/api/resource.ts'
import type { Flat, InputOf, OutputOf, Schema } from './schema.ts'

export type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
export type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
export type { Resource } from '#/api/resource.ts'

/** Fields as in the `spec` of a CustomResourceDefinition, except that versions are keyed by name. */
export interface CustomResourceOptions {
  readonly group: string
  readonly names: CustomResourceDefinitionNames
  readonly scope: Scope
  readonly versions: Readonly<Record<string, CustomResourceVersionOptions>>
  readonly conversion?: CustomResourceConversion
  /** Of the CustomResourceDefinition. */
  readonly labels?: Readonly<Record<string, string>>
  /** Of the CustomResourceDefinition. */
  readonly annotations?: Readonly<Record<string, string>>
}

export interface CustomResourceVersionOptions {
  /** The fields of the object without apiVersion, kind and metadata. */
  readonly schema: Schema<object, object>
  /** Default true. */
  readonly served?: boolean
  /** True in exactly one version; need not be set in an only version. */
  readonly storage?: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
  readonly subresources?: CustomResourceSubresources
  readonly additionalPrinterColumns?: readonly CustomResourceColumnDefinition[]
  /** JSON paths of fields for field selectors: `.spec.color`. */
  readonly selectableFields?: readonly string[]
}

/** One version of a custom resource. */
export interface CustomResource<
  Input extends KubernetesObject,
  Output extends KubernetesObject,
> extends Resource<Input> {
  /** Adds the defaults of the schema, as the API server does. Returns an object that has them unchanged. */
  readonly withDefaults: <T extends Input>(object: T) => T & Output
  /** Never set: carries the type for the compiler. */
  readonly defaulted?: Output
}

/** The storage version as a `Resource`, with the other versions and the definition. */
export type DefinedResource<O extends CustomResourceOptions> = VersionResource<O, StorageVersion<O>> & {
  readonly definition: CustomResourceDefinition
  readonly versions: { readonly [V in VersionName<O>]: VersionResource<O, V> }
}

/** The type of the objects as clients write them: fields with defaults are optional. */
export type Infer<R extends Resource> = R extends Resource<infer T> ? T : never

/** The type of the objects as the API server returns them: fields with defaults are present. */
export type InferDefaulted<R extends Resource> = R extends { readonly defaulted?: infer T } ? T : never

type VersionName<O extends CustomResourceOptions> = keyof O['versions'] & string

type StorageVersion<O extends CustomResourceOptions> =
  StorageVersions<O> extends never ? VersionName<O> : StorageVersions<O>

type StorageVersions<O extends CustomResourceOptions> = {
  [V in VersionName<O>]: O['versions'][V] extends { readonly storage: true } ? V : never
}[VersionName<O>]

type VersionResource<O extends CustomResourceOptions, V extends VersionName<O>> = CustomResource<
  CustomObject<O, V, InputOf<O['versions'][V]['schema']>>,
  CustomObject<O, V, OutputOf<O['versions'][V]['schema']>>
>

/** The conditional type is always true; it tells the compiler that the result is an object. */
type CustomObject<O extends CustomResourceOptions, V extends string, Fields> =
  Flat<
    {
      readonly apiVersion?: `${O['group']}/${V}`
      readonly kind?: O['names']['kind']
      readonly metadata: ObjectMeta
    } & Fields
  > extends infer T extends KubernetesObject
    ? T
    : never

/** Throws TypeError unless exactly one version is the storage version. */
export function defineCustomResource<const O extends CustomResourceOptions>(options: O): DefinedResource<O> {
  const storage = storageVersionOf(options)
  const versions = Object.entries(options.versions).map(([name, version]) => {
    return [name, versionResource(options, { name, version, storage })] as const
  })
  const byName = Object.fromEntries(versions)
  const definition = definitionOf(options, storage)
  // The types of the versions follow from those of the options.
  return { ...byName[storage], definition, versions: byName } as unknown as DefinedResource<O>
}

function storageVersionOf({ names, versions }: CustomResourceOptions): string {
  const entries = Object.entries(versions)
  const [first, ...others] = entries.length === 1 ? entries : entries.filter(([, each]) => each.storage)
  if (first !== undefined && others.length === 0) return first[0]
  throw new TypeError(`${names.kind}: exactly one version must have storage: true`)
}

interface Version {
  readonly name: string
  readonly version: CustomResourceVersionOptions
  readonly storage: string
}

function versionResource(
  { group, names, scope }: CustomResourceOptions,
  { name, version, storage }: Version,
): CustomResource<KubernetesObject, KubernetesObject> {
  const { status, scale } = version.subresources ?? {}
  const fill = compileDefaulting(version.schema.openAPIV3Schema)
  return {
    ...customResource({
      ...names,
      group,
      version: name,
      scope,
      storageVersion: storage,
      subresources: [...(status ? (['status'] as const) : []), ...(scale ? (['scale'] as const) : [])],
    }),
    withDefaults: object => {
      const json = jsonOf(object)
      const filled = fill(json)
      return filled === json ? object : (objectOf(filled) as typeof object)
    },
  }
}

function definitionOf(options: CustomResourceOptions, storage: string): CustomResourceDefinition {
  const { group, names, scope, versions, conversion, labels, annotations } = options
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names.plural}.${group}`,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec: {
      group,
      names: { ...names, singular: names.singular ?? names.kind.toLowerCase(), listKind: listKindOf(names) },
      scope,
      versions: Object.entries(versions).map(([name, version]) => versionOf({ name, version, storage })),
      ...(conversion && { conversion }),
    },
  }
}

function versionOf({ name, version, storage }: Version): CustomResourceDefinitionVersion {
  const { schema, selectableFields, served = true, ...rest } = version
  const { openAPIV3Schema } = schema
  const typeMeta = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } }
  return {
    ...rest,
    name,
    served,
    storage: name === storage,
    schema: {
      openAPIV3Schema: { ...openAPIV3Schema, properties: { ...typeMeta, ...openAPIV3Schema.properties } },
    },
    ...(selectableFields && { selectableFields: selectableFields.map(jsonPath => ({ jsonPath })) }),
  }
}

/** The names of a custom resource in one version. */
export interface CustomResourceNames extends CustomResourceDefinitionNames {
  readonly group: string
  readonly version: string
  readonly scope: Scope
  readonly subresources?: readonly ('status' | 'scale')[]
  /** Default `version`. */
  readonly storageVersion?: string
}

/**
 * The resource of a CustomResourceDefinition. The caller is responsible for the object type `T`. Its schema
 * has no fields: clients do not need them.
 */
export function customResource<T extends KubernetesObject>(names: CustomResourceNames): Resource<T> {
  const { group, version, kind, plural, singular, scope, shortNames = [], categories = [] } = names
  const { subresources = [], storageVersion = version } = names
  return {
    group,
    version,
    kind,
    listKind: listKindOf(names),
    plural,
    singular: singular ?? kind.toLowerCase(),
    scope,
    shortNames,
    categories,
    verbs,
    schema: { type: 'struct', name: '', fields: new Map(), atomic: false, preserveUnknownFields: true },
    subresources: new Map(subresources.map(name => [name, subresourceOf(name, { group, version, kind })])),
    storage: { group, version: storageVersion },
  }
}

const verbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
]

function listKindOf({ kind, listKind }: CustomResourceDefinitionNames): string {
  return listKind ?? `${kind}List`
}

function subresourceOf(
  name: 'status' | 'scale',
  own: Pick<Resource, 'group' | 'version' | 'kind'>,
): Subresource {
  const kind = name === 'status' ? own : { group: 'autoscaling', version: 'v1', kind: 'Scale' }
  return { name, verbs: ['get', 'patch', 'update'], ...kind }
}
