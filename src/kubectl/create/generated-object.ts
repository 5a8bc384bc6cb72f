import { apiVersionOf } from '#/api/resource.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { PathResource } from '#/client/resource-path.ts'
import { toCompactJson } from '../printers/object-printer.ts'
import { lastAppliedAnnotation } from '../resource/last-applied.ts'

/** The type of a generated object, and where it is created. */
export interface GeneratedResource extends PathResource {
  readonly kind: string
}

/** The fields of a generated object but its type, in the order in which Kubernetes encodes them. */
export interface ObjectContent {
  readonly metadata: JsonObject
  readonly [field: string]: JsonObject[string] | undefined
}

export function generatedObject(
  resource: GeneratedResource,
  { metadata, ...content }: ObjectContent,
): JsonObject {
  const object: JsonObject = {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    metadata: orderedMetadata(metadata),
  }
  for (const [field, value] of Object.entries(content)) {
    if (value !== undefined) object[field] = value
  }
  return object
}

export function withNamespace(object: JsonObject, namespace: string): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return { ...object, metadata: orderedMetadata({ ...metadata, namespace }) }
}

/** The fields of ObjectMeta that commands set, in their order. */
const order = ['name', 'namespace', 'labels', 'annotations', 'ownerReferences']

/** Empty maps and texts are omitted. */
function orderedMetadata(metadata: JsonObject): JsonObject {
  const fields = [...order, ...Object.keys(metadata).filter(field => !order.includes(field))]
  const isPresent = (field: string): boolean => {
    const value = metadata[field]
    return value !== undefined && value !== '' && !(isObject(value) && Object.keys(value).length === 0)
  }
  return Object.fromEntries(fields.filter(isPresent).map(field => [field, metadata[field]!]))
}

/** Adds the annotation of `kubectl apply` to a generated object, whose fields keep their order in it. */
export function withGeneratedConfiguration(object: JsonObject): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const given = isObject(metadata['annotations']) ? metadata['annotations'] : {}
  const { [lastAppliedAnnotation]: _previous, ...annotations } = given
  const configured = { ...object, metadata: orderedMetadata({ ...metadata, annotations }) }
  const added = sortedMap({ ...annotations, [lastAppliedAnnotation]: `${toCompactJson(configured)}\n` })
  return { ...object, metadata: orderedMetadata({ ...metadata, annotations: added }) }
}

/** In the order in which Kubernetes encodes maps. */
export function sortedMap<T>(map: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))
}
