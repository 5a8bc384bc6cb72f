/** Whether a write is selected by the labels of its namespace and by its own. */
import { notFound } from '#/api/errors.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { Labels } from '#/api/labels.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Selector } from '#/api/selector.ts'
import type { Registry } from '../../registry/registry.ts'
import type { AdmissionRequest } from '../admission.ts'
import { find, findLatest } from '../lookup.ts'

/** The namespace of a namespace is itself. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionRequest): string {
  if (resource.group !== '' || resource.plural !== 'namespaces') return namespace
  return name || object?.metadata?.name || ''
}

/** What is in no namespace is always selected. Throws ApiError 404 when the namespace is gone. */
export async function selectsNamespace(
  objects: Pick<Registry, 'cache' | 'store'>,
  selector: Selector,
  request: AdmissionRequest,
): Promise<boolean> {
  if (selector.isEmpty) return true
  const { resource } = request
  const isNamespace = resource.group === '' && resource.plural === 'namespaces'
  if (request.namespace === '' && !isNamespace) return true
  return selector.matches(await namespaceLabels(objects, request, isNamespace))
}

async function namespaceLabels(
  objects: Pick<Registry, 'cache' | 'store'>,
  request: AdmissionRequest,
  isNamespace: boolean,
): Promise<Labels | undefined> {
  const { operation, subresource, object } = request
  // What the namespace will be counts, not what it was.
  const isWritten = (operation === 'CREATE' || operation === 'UPDATE') && subresource === ''
  if (isNamespace && isWritten) return object?.metadata?.labels
  const name = namespaceOf(request)
  const found = find(objects, namespaces, { name }) ?? (await findLatest(objects, namespaces, { name }))
  if (found === undefined) throw notFound({ group: '', kind: 'namespaces', name })
  return found.metadata?.labels
}

/** One of the two is enough: an object must not escape by dropping its label. */
export function selectsObject(selector: Selector, { object, before }: AdmissionRequest): boolean {
  if (selector.isEmpty) return true
  const isSelected = (each: KubernetesObject | undefined): boolean =>
    each !== undefined && selector.matches(each.metadata?.labels)
  return isSelected(object) || isSelected(before)
}
