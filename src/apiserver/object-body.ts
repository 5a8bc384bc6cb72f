/** The response body for one object: the object itself, or a Table with one row on request. */
import { readObject } from './registry/convert-objects.ts'
import type { StoredObject } from './registry/stored-object.ts'
import type { ValueBody } from './request.ts'
import { tableBody, type TableRequest } from './table.ts'
import type { View } from './view.ts'

/** Encodes one object in the negotiated form. Objects that are not stored have no resourceVersion. */
export async function objectBody(
  view: View,
  stored: StoredObject,
  request: TableRequest,
): Promise<ValueBody> {
  const object = await readObject(view.resource, stored)
  if (view.negotiated.transform?.kind !== 'Table') return view.body(object)
  const meta = { resourceVersion: String(stored.revision || '') }
  return tableBody(view, { objects: [object], meta }, request)
}
