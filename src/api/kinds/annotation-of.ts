import type { KubernetesObject } from '../metadata.ts'

/** The value of an annotation; ignores inherited properties such as `constructor`. */
export function annotationOf(object: KubernetesObject, key: string): string | undefined {
  const annotations = object.metadata.annotations
  return annotations !== undefined && Object.hasOwn(annotations, key) ? annotations[key] : undefined
}
