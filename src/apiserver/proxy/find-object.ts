import { notFound } from '#/api/errors.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { checkPathSegmentName } from '#/api/names.ts'
import type { Resource } from '#/api/resource.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { waitUntilFresh } from '../handlers/wait-until-fresh.ts'
import { keyOf } from '../registry/store-keys.ts'

/** Reads the current object. Throws ApiError 404, also for invalid names. */
export async function findObject<T extends KubernetesObject>(
  scope: RequestScope,
  resource: Resource<T>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Stored<T>> {
  const isName = checkPathSegmentName(name).length === 0 && checkPathSegmentName(namespace).length === 0
  if (isName) await waitUntilFresh(scope, undefined)
  const stored = isName ? scope.registry.cache.get(keyOf(resource, namespace, name)) : undefined
  if (stored === undefined) throw notFound({ group: resource.group, kind: resource.plural, name })
  return stored.object as Stored<T>
}
