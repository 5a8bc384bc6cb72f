/**
 * Adding and removing annotations. Objects are immutable: each function returns a new object when something
 * changes.
 */
import type { KubernetesObject } from './metadata.ts'

export function annotationOf(object: KubernetesObject, name: string): string | undefined {
  const annotations = object.metadata.annotations
  return annotations !== undefined && Object.hasOwn(annotations, name) ? annotations[name] : undefined
}

/** Returns the same object if the annotations are already set to these values. */
export function withAnnotations<T extends KubernetesObject>(
  object: T,
  annotations: Readonly<Record<string, string>>,
): T {
  const isSame = Object.entries(annotations).every(([name, value]) => annotationOf(object, name) === value)
  if (isSame) return object
  const { metadata } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } }
}

/** Removes the `annotations` field when its last annotation is removed. */
export function withoutAnnotation<T extends KubernetesObject>(object: T, name: string): T {
  if (annotationOf(object, name) === undefined) return object
  const { annotations = {}, ...rest } = object.metadata
  const left = Object.fromEntries(Object.entries(annotations).filter(([each]) => each !== name))
  const metadata = Object.keys(left).length === 0 ? rest : { ...rest, annotations: left }
  return { ...object, metadata }
}
