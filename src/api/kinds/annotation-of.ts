import type { KubernetesObject } from '../metadata.ts'

/** An annotation, and nothing for a name that every object inherits. */
export function annotationOf(object: KubernetesObject, key: string): string | undefined {
  const annotations = object.metadata?.annotations
  return annotations !== undefined && Object.hasOwn(annotations, key) ? annotations[key] : undefined
}
