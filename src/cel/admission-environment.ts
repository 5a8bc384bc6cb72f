/**
 * The variables of expressions in admission: object, oldObject, request, namespaceObject, params, authorizer
 * and the variables of a policy. Shared by webhook match conditions, admission policies and the type checking
 * of policies. https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
 */
import { authorizerType, resourceCheckType } from './authorizer.ts'
import { Environment } from './environment.ts'
import type { Library } from './function.ts'
import { kubernetesLibraries } from './library.ts'
import {
  boolType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectOf,
  stringType,
  timestampType,
  type ObjectType,
  type Type,
} from './type.ts'

export interface AdmissionEnvironmentOptions {
  /** Type of object and oldObject; dyn when the kind is not known. */
  readonly object?: Type
  /** Type of params; absent when there are no parameters. */
  readonly params?: Type
  /** True if expressions may use the authorizer. */
  readonly authorizer?: boolean
  /** Type of the policy's variables; see `PolicyVariables`. */
  readonly variables?: Type
  readonly libraries?: readonly Library[]
}

export function admissionEnvironment(options: AdmissionEnvironmentOptions): Environment {
  const { object = dynType, params, authorizer = false, variables, libraries = [] } = options
  return new Environment({
    variables: {
      object,
      oldObject: object,
      request: requestType,
      namespaceObject: namespaceType,
      ...(params && { params }),
      ...(authorizer && {
        'authorizer': authorizerType,
        'authorizer.requestResource': resourceCheckType,
      }),
      ...(variables && { variables }),
    },
    libraries: [...kubernetesLibraries, ...libraries],
  })
}

const strings = listOf(stringType)

const kindType = objectType('kubernetes.GroupVersionKind', {
  group: stringType,
  version: stringType,
  kind: stringType,
})

const resourceType = objectType('kubernetes.GroupVersionResource', {
  group: stringType,
  version: stringType,
  resource: stringType,
})

export const requestType: Type = objectType('kubernetes.AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: objectType('kubernetes.UserInfo', {
    username: stringType,
    uid: stringType,
    groups: strings,
    extra: mapOf(stringType, strings),
  }),
  dryRun: boolType,
  options: dynType,
})

/** Without ownerReferences and managedFields, as in Kubernetes. */
export const namespaceType: Type = objectType('kubernetes.Namespace', {
  metadata: objectType(
    'kubernetes.NamespaceMetadata',
    {
      name: stringType,
      generateName: stringType,
      namespace: stringType,
      labels: mapOf(stringType, stringType),
      annotations: mapOf(stringType, stringType),
      UID: stringType,
      creationTimestamp: timestampType,
      deletionGracePeriodSeconds: intType,
      deletionTimestamp: timestampType,
      generation: intType,
      resourceVersion: stringType,
      finalizers: strings,
    },
    // Kubernetes' own spelling.
    { UID: 'uid' },
  ),
  spec: objectType('kubernetes.NamespaceSpec', { finalizers: strings }),
  status: objectType('kubernetes.NamespaceStatus', {
    conditions: listOf(
      objectType('kubernetes.NamespaceCondition', {
        status: stringType,
        type: stringType,
        lastTransitionTime: timestampType,
        message: stringType,
        reason: stringType,
      }),
    ),
    phase: stringType,
  }),
})

/**
 * An object type with these fields. `properties` maps a field to its JSON property where the names differ.
 */
function objectType(
  name: string,
  fields: Readonly<Record<string, Type>>,
  properties: Readonly<Record<string, string>> = {},
): Type {
  const types = new Map(Object.entries(fields))
  const propertyOf = new Map(Object.entries(properties))
  const fieldOf = new Map(Object.entries(properties).map(([field, property]) => [property, field]))
  const type: ObjectType = {
    name,
    field: field => types.get(field),
    property: field => propertyOf.get(field) ?? field,
    fieldOf: property => fieldOf.get(property) ?? property,
  }
  return objectOf(type)
}
