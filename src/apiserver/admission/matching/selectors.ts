/** Evaluates the namespaceSelector and objectSelector of webhooks and policies. */
import { notFound } from '#/api/errors.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { Labels } from '#/api/labels.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { Registry } from '../../registry/registry.ts'
import type { AdmissionAttributes } from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'

/** For a Namespace object, its own name. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionAttributes): string {
  if (resource.group !== '' || resource.plural !== 'namespaces') return namespace
  return name || object?.metadata.name || ''
}

/** Cluster-scoped objects are always selected. Throws ApiError 404 if the namespace does not exist. */
export async function selectsNamespace(
  objects: Pick<Registry, 'cache' | 'store'>,
  selector: Selector,
  request: AdmissionAttributes,
): Promise<boolean> {
  if (selector.isEmpty) return true
  const { resource } = request
  const isNamespace = resource.group === '' && resource.plural === 'namespaces'
  if (request.namespace === '' && !isNamespace) return true
  return selector.matches(await namespaceLabels(objects, request, isNamespace))
}

async function namespaceLabels(
  objects: Pick<Registry, 'cache' | 'store'>,
  request: AdmissionAttributes,
  isNamespace: boolean,
): Promise<Labels | undefined> {
  const { operation, subresource, object } = request
  // A Namespace being written is matched by its new labels.
  const isWritten = (operation === 'CREATE' || operation === 'UPDATE') && subresource === ''
  if (isNamespace && isWritten) return object?.metadata.labels
  const name = namespaceOf(request)
  const found =
    getCached(objects, namespaces, { name }) ?? (await getCachedOrStored(objects, namespaces, { name }))
  if (found === undefined) throw notFound({ group: '', kind: 'namespaces', name })
  return found.metadata.labels
}

/**
 * Matches if the new or the old object is selected, so that removing a label does not evade the webhook or
 * policy.
 */
export function selectsObject(selector: Selector, { object, oldObject }: AdmissionAttributes): boolean {
  if (selector.isEmpty) return true
  const isSelected = (each: KubernetesObject | undefined): boolean =>
    each !== undefined && selector.matches(each.metadata.labels)
  return isSelected(object) || isSelected(oldObject)
}
