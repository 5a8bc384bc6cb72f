import type { KubernetesObject } from '#/api/metadata.ts'

/** Returns the object with the finalizer, so that a controller decides when it is removed. */
export function withFinalizer(object: KubernetesObject, finalizer: string): KubernetesObject {
  const finalizers = object.metadata.finalizers ?? []
  if (finalizers.includes(finalizer)) return object
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } }
}
