/** The InitializerConfiguration resource as served by Kubernetes 1.13. */
import { structDefinition } from '#/api/definitions.ts'
import { invalid, required, type FieldError } from '#/api/field-error.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { validateFullyQualifiedName } from '#/api/names.ts'
import type { Resource } from '#/api/resource.ts'
import { listOf, struct, text, versionedStruct } from '../../plugin-configuration.ts'

export interface InitializerConfiguration extends KubernetesObject {
  readonly initializers?: readonly ConfiguredInitializer[]
}

interface ConfiguredInitializer {
  readonly name?: string
  readonly rules?: readonly Rule[]
}

/** Matches when each list contains the value; `*` as the first item matches everything. */
export interface Rule {
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
}

const rules: KindRules<InitializerConfiguration> = { validate, validateUpdate: validate }

const api = 'io.k8s.api.admissionregistration.v1alpha1'

export const initializerConfigurations: Resource<InitializerConfiguration> = {
  group: 'admissionregistration.k8s.io',
  version: 'v1alpha1',
  kind: 'InitializerConfiguration',
  listKind: 'InitializerConfigurationList',
  plural: 'initializerconfigurations',
  singular: 'initializerconfiguration',
  scope: 'Cluster',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: new Map(),
  storage: { group: 'admissionregistration.k8s.io', version: 'v1alpha1' },
  rules,
  schema: versionedStruct(`${api}.InitializerConfiguration`, {
    metadata: structDefinition('meta.v1.ObjectMeta'),
    initializers: listOf(
      struct(`${api}.Initializer`, {
        name: text,
        rules: listOf(
          struct(`${api}.Rule`, {
            apiGroups: listOf(text),
            apiVersions: listOf(text),
            resources: listOf(text),
          }),
        ),
      }),
    ),
  }),
}

function validate({ initializers = [] }: InitializerConfiguration): FieldError[] {
  return initializers.flatMap(({ name = '', rules: given = [] }, index) => {
    const field = `initializers[${index}]`
    return [
      ...validateFullyQualifiedName(`${field}.name`, name),
      ...given.flatMap((rule, each) => validateRule(`${field}.rules[${each}]`, rule)),
    ]
  })
}

function validateRule(
  field: string,
  { apiGroups = [], apiVersions = [], resources = [] }: Rule,
): FieldError[] {
  return [
    ...validateList(`${field}.apiGroups`, apiGroups, 'API groups'),
    ...validateList(`${field}.apiVersions`, apiVersions, 'API versions'),
    ...validateNoneEmpty(`${field}.apiVersions`, apiVersions),
    ...validateList(`${field}.resources`, resources, 'resources'),
    ...validateNoneEmpty(`${field}.resources`, resources),
    ...resources.flatMap((resource, index) =>
      resource.includes('/')
        ? [invalid(`${field}.resources[${index}]`, resource, 'must not specify subresources')]
        : [],
    ),
  ]
}

function validateList(field: string, list: readonly string[], what: string): FieldError[] {
  if (list.length === 0) return [required(field, '')]
  if (list.length === 1 || !list.includes('*')) return []
  return [invalid(field, list, `if '*' is present, must not specify other ${what}`)]
}

function validateNoneEmpty(field: string, list: readonly string[]): FieldError[] {
  return list.flatMap((item, index) => (item === '' ? [required(`${field}[${index}]`, '')] : []))
}
