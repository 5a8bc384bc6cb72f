/** Rules of Namespace. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import type { Namespace } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { isBeingDeleted } from '../../metadata.ts'
import { checkBuiltInFinalizerName, checkFinalizerName, labelNames } from '../../names.ts'
import { withDefaults, withoutField } from '../../copy-on-write.ts'

export const namespaceRules: KindRules<Namespace> = {
  names: labelNames,
  withDefaults: namespace => withPhase(withNameLabel(namespace)),
  prepareForCreate: namespace => withPhase(withNameLabel(withKubernetesFinalizer(namespace))),
  prepareForUpdate: (namespace, old) => withNameLabel(withFinalizersOf(namespace, old)),
  validate: validateFinalizers,
  validateUpdate: validateFinalizers,
  validateStatusUpdate: validatePhase,
  subresources: { finalize: { merge: mergeFinalizers, validate: validateNamespaceFinalize } },
  hasPendingFinalization: namespace => (namespace.spec?.finalizers?.length ?? 0) > 0,
  beginDeletion: namespace => ({ ...namespace, status: { ...namespace.status, phase: 'Terminating' } }),
  returnDeletedObject: 'undocumented',
  selectableFields: {
    'status.phase': namespace => namespace.status?.phase ?? '',
  },
}

/** The finalize subresource updates everything but the status; without finalizers, the namespace is removed. */
function mergeFinalizers(old: Namespace, sent: Namespace): Namespace {
  const { status: _, ...rest } = sent
  return { ...rest, ...(old.status && { status: old.status }) }
}

/** Validates an update through `finalize`, the only way to change `spec.finalizers`. */
function validateNamespaceFinalize(namespace: Namespace): FieldError[] {
  return (
    namespace.spec?.finalizers?.flatMap((name, index) => {
      return validateFinalizer(`spec.finalizers[${index}]`, name)
    }) ?? []
  )
}

/** Keeps the namespace until all its contents have been deleted. */
const kubernetesFinalizer = 'kubernetes'

/** Label with the name of the namespace, for selectors of network policies and webhooks. */
const nameLabel = 'kubernetes.io/metadata.name'

function withNameLabel(namespace: Namespace): Namespace {
  const { name, labels } = namespace.metadata
  if (!name || labels?.[nameLabel] === name) return namespace
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, [nameLabel]: name } } }
}

function withPhase(namespace: Namespace): Namespace {
  const status = withDefaults(namespace.status ?? {}, { phase: 'Active' })
  return status === namespace.status ? namespace : { ...namespace, status }
}

function withKubernetesFinalizer(namespace: Namespace): Namespace {
  const { finalizers = [] } = namespace.spec ?? {}
  if (finalizers.includes(kubernetesFinalizer)) return namespace
  return { ...namespace, spec: { ...namespace.spec, finalizers: [...finalizers, kubernetesFinalizer] } }
}

function withFinalizersOf(namespace: Namespace, old: Namespace): Namespace {
  const finalizers = old.spec?.finalizers
  const { spec = {} } = namespace
  if (spec.finalizers === finalizers) return namespace
  return { ...namespace, spec: finalizers ? { ...spec, finalizers } : withoutField(spec, 'finalizers') }
}

function validateFinalizers(namespace: Namespace): FieldError[] {
  return namespace.spec?.finalizers?.flatMap(name => validateFinalizer('spec.finalizers', name)) ?? []
}

function validateFinalizer(field: string, name: string): FieldError[] {
  return invalidEach(field, name, [...checkFinalizerName(name), ...checkBuiltInFinalizerName(name)])
}

function validatePhase(namespace: Namespace): FieldError[] {
  const phase = namespace.status?.phase ?? ''
  if (isBeingDeleted(namespace)) {
    if (phase === 'Terminating') return []
    return [invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
  }
  if (phase === 'Active') return []
  return [invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")]
}
