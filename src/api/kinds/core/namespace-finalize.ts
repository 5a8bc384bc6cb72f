/**
 * The finalizers in the spec of a namespace: whoever has removed his part takes his name off, and the last one ends the
 * namespace.
 */
import type { Namespace } from '../../generated/core/v1.ts'
import type { KindPart } from '../../kind-rules.ts'

export const namespaceFinalize: KindPart<Namespace> = {
  merge: (before, sent) => withFinalizers(before, sent.spec?.finalizers ?? []),
  validate: () => [],
}

function withFinalizers(namespace: Namespace, finalizers: readonly string[]): Namespace {
  const { finalizers: _, ...spec } = namespace.spec ?? {}
  return { ...namespace, spec: { ...spec, ...(finalizers.length > 0 && { finalizers }) } }
}
