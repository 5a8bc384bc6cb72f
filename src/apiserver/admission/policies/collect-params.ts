/** Resolves the params objects of a policy binding. */
import { convertObject } from '#/api/conversion.ts'
import type { ParamKind, ParamRef } from '#/api/generated/admissionregistration/v1.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Registry } from '../../registry/registry.ts'
import { listCached, getCachedOrStored } from '../lookup.ts'
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
  return found.map(object => convertObject(object, resource))
}

async function findParams(
  objects: Pick<Registry, 'cache' | 'store'>,
  resource: Resource,
  { paramRef, namespace }: { readonly paramRef: ParamRef; readonly namespace: string },
): Promise<readonly KubernetesObject[]> {
  const { name = '', selector } = paramRef
  if (name !== '') {
    const found = await getCachedOrStored(objects, resource, { name, namespace })
    return found ? [found] : []
  }
  const wanted = compileLabelSelector(selector ?? {})
  return listCached(objects, resource, namespace).filter(({ metadata }) => wanted.matches(metadata.labels))
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
