import type { KubernetesObject } from '#/api/metadata.ts'

/** The object held by a finalizer, so that a controller decides when it may go. */
export function withFinalizer(object: KubernetesObject, finalizer: string): KubernetesObject {
  const finalizers = object.metadata?.finalizers ?? []
  if (finalizers.includes(finalizer)) return object
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } }
}
