/** Resolves the params objects of a policy binding. */
import type { ParamKind, ParamRef } from '#/api/generated/admissionregistration/v1.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { convertTo, readObjects } from '../../registry/convert-objects.ts'
import { getStoredObject } from '../../registry/get-stored-object.ts'
import type { Registry } from '../../registry/registry.ts'
import { keyOf, prefixOf } from '../../registry/store-keys.ts'
import type { StoredObject } from '../../registry/stored-object.ts'
import { PolicyError } from './policy-error.ts'

/**
 * The resource of the paramKind; undefined if the policy has none. Throws PolicyError if the kind is not
 * served.
 */
export function findParamResource(scheme: Scheme, paramKind: ParamKind | undefined): Resource | undefined {
  if (paramKind === undefined) return undefined
  const { apiVersion = '', kind = '' } = paramKind
  const { group, version } = parseGroupVersion(apiVersion) ?? { group: '', version: apiVersion }
  const resource = scheme.byKind({ group, version, kind })
  if (resource !== undefined) return resource
  throw new PolicyError(
    `failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`,
  )
}

export interface ParamsRequest {
  readonly resource: Resource | undefined
  readonly paramRef: ParamRef | undefined
  /** Namespace of the request. */
  readonly namespace: string
}

/**
 * The policy is evaluated once per item; a `null` item means without params, and an empty list means no
 * evaluation. Throws PolicyError.
 */
export async function collectParams(
  objects: Pick<Registry, 'cache' | 'store'>,
  { resource, paramRef, namespace }: ParamsRequest,
): Promise<readonly (KubernetesObject | null)[]> {
  if (resource === undefined || paramRef === undefined) return [null]
  const found = await findParams(objects, resource, {
    paramRef,
    namespace: namespaceOfParams(resource, paramRef, namespace),
  })
  if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny') {
    throw new PolicyError('no params found for policy binding with `Deny` parameterNotFoundAction')
  }
  return found
}

/** In the version of the resource. */
async function findParams(
  objects: Pick<Registry, 'cache' | 'store'>,
  resource: Resource,
  { paramRef, namespace }: { readonly paramRef: ParamRef; readonly namespace: string },
): Promise<readonly KubernetesObject[]> {
  const { name = '', selector } = paramRef
  if (name !== '') {
    const found = await getStoredObject(objects, keyOf(resource, namespace, name))
    return found ? inVersion(resource, [found]) : []
  }
  const wanted = compileLabelSelector(selector ?? {})
  const found = await inVersion(resource, [...objects.cache.list(prefixOf(resource, namespace))])
  return found.filter(({ metadata }) => wanted.matches(metadata.labels))
}

async function inVersion(
  resource: Resource,
  stored: readonly StoredObject[],
): Promise<readonly KubernetesObject[]> {
  const read = await readObjects(resource, stored)
  return Promise.all(read.map(({ object }) => convertTo(resource, object, resource)))
}

function namespaceOfParams({ scope }: Resource, paramRef: ParamRef, ofRequest: string): string {
  const { namespace = '' } = paramRef
  if (scope === 'Cluster') {
    if (namespace === '') return ''
    throw new PolicyError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  }
  if (namespace !== '' || ofRequest !== '') return namespace || ofRequest
  throw new PolicyError(
    'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
  )
}
