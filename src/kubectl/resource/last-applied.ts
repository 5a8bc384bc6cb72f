import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { sorted, toCompactJson } from '../printers/object-printer.ts'

/** Has the configuration that `kubectl apply` applied last, or another command with `--save-config`. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object with its configuration, which is the object without this annotation, in the annotation. */
export function withLastApplied(object: JsonObject): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const given = isObject(metadata['annotations']) ? metadata['annotations'] : {}
  const { [lastAppliedAnnotation]: _previous, ...annotations } = given
  const configuration = toCompactJson(sorted({ ...object, metadata: { ...metadata, annotations } }))
  const added = { ...annotations, [lastAppliedAnnotation]: `${configuration}\n` }
  return { ...object, metadata: { ...metadata, annotations: added } }
}

/** Empty if the object has no such configuration. */
export function lastAppliedOf({ metadata }: JsonObject): string {
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  const text = isObject(annotations) ? annotations[lastAppliedAnnotation] : undefined
  return typeof text === 'string' ? text : ''
}
