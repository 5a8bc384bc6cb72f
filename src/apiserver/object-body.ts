/** The response body for one object: the object itself, or a Table with one row on request. */
import { apiError, unknownError, type ApiError } from '#/api/errors.ts'
import { isCustomKind, type Resource } from '#/api/resource.ts'
import { isConvertedOnRead, readObject } from './registry/convert-objects.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'
import { Table, type TableRequest } from './table.ts'
import type { View } from './view.ts'

/** The error of a transformation that does not fit the response. */
export function notTransformable({ negotiated, resource }: View, problem: string): ApiError {
  if (isCustomKind(resource) && negotiated.transform?.kind === 'PartialObjectMetadataList')
    return unknownError('content is not a list')
  const text = `you requested ${negotiated.transform?.kind ?? ''}, but the requested object ${problem}`
  return apiError('NotAcceptable', text)
}

/** The internal type of Kubernetes: `*core.Pod`. */
export function goTypeOf(resource: Resource, kind: string): string {
  if (isCustomKind(resource)) return '*unstructured.Unstructured'
  const [group = ''] = resource.group.split('.', 1)
  return `*${group === '' || group === 'events' ? 'core' : group}.${kind}`
}

/** Encodes one object in the negotiated form. Objects that are not stored have no resourceVersion. */
export async function objectBody(
  view: View,
  stored: StoredObject,
  request: TableRequest,
): Promise<ValueBody> {
  const { resource } = view
  if (view.negotiated.transform?.kind === 'PartialObjectMetadataList')
    throw notTransformable(view, `is not a list (${goTypeOf(resource, resource.kind)})`)
  const object = isConvertedOnRead(resource) ? await readObject(resource, stored) : stored
  if (view.negotiated.transform?.kind !== 'Table') return view.body(object)
  const meta = stored.revision === 0 ? {} : { resourceVersion: String(stored.revision) }
  return new Table(view, request).body({ objects: [object], meta })
}
