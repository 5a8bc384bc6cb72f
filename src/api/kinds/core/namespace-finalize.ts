/**
 * The finalize subresource of Namespace, which updates the finalizers in the spec; the namespace is removed
 * when the last one is gone.
 */
import type { Namespace } from '../../generated/core/v1.ts'
import type { SubresourceStrategy } from '../../kind-rules.ts'

export const namespaceFinalize: SubresourceStrategy<Namespace> = {
  merge: (old, sent) => withFinalizers(old, sent.spec?.finalizers ?? []),
  validate: () => [],
}

function withFinalizers(namespace: Namespace, finalizers: readonly string[]): Namespace {
  const { finalizers: _, ...spec } = namespace.spec ?? {}
  return { ...namespace, spec: { ...spec, ...(finalizers.length > 0 && { finalizers }) } }
}
