/**
 * What expressions about a request in admission may speak of: the object before and after, the request, its
 * namespace, parameters, who may do what, and variables that a policy defines. Webhooks, policies and the check of
 * policies against the kinds that they are about use the same names.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
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
  /** Of the object before and after; dyn when only the request tells. */
  readonly object?: Type
  /** Of parameters; without it there are none. */
  readonly params?: Type
  /** Whether expressions may ask who may do what. */
  readonly authorizer?: boolean
  /** What the policy defines; see `PolicyVariables`. */
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

/** Who owns a namespace and its fields is nothing to decide by. */
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
    // Kubernetes spells it so.
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

/** Fields, and the properties that those stand for which have another name. */
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
