/** Validation of pod updates. Few fields are mutable, since the containers may already be running. */
import { forbiddenField, invalid, type FieldError } from '../../field-error.ts'
import type {
  Affinity,
  Container,
  NodeSelectorTerm,
  Pod,
  PodSchedulingGate,
  PodSpec,
  Toleration,
} from '../../generated/core/v1.ts'
import { quote, showValue } from '../../text/quote.ts'
import { validatePodAnnotationsUpdate } from './pod-annotation-validation.ts'
import { specOf, validatePod } from './pod-validation.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { isMirrorPod } from './validation-context.ts'

export function validatePodUpdate(pod: Pod, old: Pod): FieldError[] {
  const spec = specOf(pod)
  const oldSpec = specOf(old)
  const errors = [...validatePod(pod), ...validateAnnotationsUpdate(pod, old)]
  const countErrors = (['containers', 'initContainers'] as const)
    .filter(name => (spec[name] ?? []).length !== (oldSpec[name] ?? []).length)
    .map(name => forbiddenField(`spec.${name}`, 'pod updates may not add or remove containers'))
  if (countErrors.length > 0) return [...errors, ...countErrors]
  return [
    ...errors,
    ...validateDeadlineUpdate('spec.activeDeadlineSeconds', spec, oldSpec),
    ...validateTolerationsUpdate('spec.tolerations', spec.tolerations ?? [], oldSpec.tolerations ?? []),
    ...validateGatesUpdate('spec.schedulingGates', spec.schedulingGates ?? [], oldSpec.schedulingGates ?? []),
    ...(oldSpec.schedulingGates?.length ? validateGatedUpdate(spec, oldSpec) : []),
    ...validateRest(spec, oldSpec),
  ]
}

/** Ephemeral containers may be added through their subresource, but not changed or removed. */
export function validateEphemeralContainersUpdate(pod: Pod, old: Pod): FieldError[] {
  if (isMirrorPod(old.metadata)) {
    return [forbiddenField('', 'static pods do not support ephemeral containers')]
  }
  const field = 'spec.ephemeralContainers'
  const kept = new Map((pod.spec?.ephemeralContainers ?? []).map(container => [container.name, container]))
  const changes = (old.spec?.ephemeralContainers ?? []).flatMap(oldContainer => {
    const container = kept.get(oldContainer.name)
    const subject = `existing ephemeral containers ${quote(oldContainer.name)}`
    if (container === undefined) return [forbiddenField(field, `${subject} may not be removed\n`)]
    if (semanticEqual(container, oldContainer)) return []
    return [forbiddenField(field, `${subject} may not be changed\n${showChanges(container, oldContainer)}`)]
  })
  return [...validatePod(pod), ...validateAnnotationsUpdate(pod, old), ...changes]
}

function validateAnnotationsUpdate(pod: Pod, old: Pod): FieldError[] {
  const annotations = pod.metadata.annotations ?? {}
  return validatePodAnnotationsUpdate('metadata.annotations', annotations, old.metadata.annotations ?? {})
}

/** `activeDeadlineSeconds` may be set or reduced. */
function validateDeadlineUpdate(field: string, spec: PodSpec, old: PodSpec): FieldError[] {
  const { activeDeadlineSeconds: seconds } = spec
  const { activeDeadlineSeconds: oldSeconds } = old
  if (oldSeconds === undefined) return []
  if (seconds === undefined) {
    return [invalid(field, null, 'must not update from a positive integer to nil value')]
  }
  return seconds > oldSeconds ? [invalid(field, seconds, 'must be less than or equal to previous value')] : []
}

/** Tolerations may be added, and `tolerationSeconds` may change. */
function validateTolerationsUpdate(
  field: string,
  tolerations: readonly Toleration[],
  old: readonly Toleration[],
): FieldError[] {
  const identity = ({ key = '', operator = '', value = '', effect = '' }: Toleration): string => {
    return JSON.stringify([key, operator, value, effect])
  }
  const kept = new Set(tolerations.map(identity))
  if (old.every(toleration => kept.has(identity(toleration)))) return []
  return [forbiddenField(field, 'existing toleration can not be modified except its tolerationSeconds')]
}

function validateGatesUpdate(
  field: string,
  gates: readonly PodSchedulingGate[],
  old: readonly PodSchedulingGate[],
): FieldError[] {
  const known = new Set(old.map(gate => gate.name))
  return gates.flatMap(({ name }, index) => {
    if (known.has(name)) return []
    return [
      forbiddenField(
        `${field}[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    ]
  })
}

/** While the pod has scheduling gates, its node selector and node affinity may become more restrictive. */
function validateGatedUpdate(spec: PodSpec, old: PodSpec): FieldError[] {
  const { nodeSelector = {} } = spec
  const keepsSelector = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => {
    return nodeSelector[key] === value
  })
  const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
  const errors = keepsSelector ? [] : [invalid('spec.nodeSelector', nodeSelector, detail)]
  return [...errors, ...validateTermsUpdate(requiredTerms(spec), requiredTerms(old))]
}

function requiredTerms({ affinity }: PodSpec): readonly NodeSelectorTerm[] {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
}

function validateTermsUpdate(
  terms: readonly NodeSelectorTerm[],
  old: readonly NodeSelectorTerm[],
): FieldError[] {
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  if (old.length === 0) return []
  if (terms.length !== old.length) {
    return [invalid(field, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')]
  }
  return terms.flatMap((term, index) => {
    const oldTerm = old[index]
    if (oldTerm === undefined || onlyAdds(term, oldTerm)) return []
    return [invalid(`${field}[${index}]`, term, 'only additions are allowed (no mutations or deletions)')]
  })
}

/** A term without requirements matches nothing; adding requirements would make it match more nodes. */
function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const { matchExpressions: expressions = [], matchFields: fields = [] } = term
  const { matchExpressions: oldExpressions = [], matchFields: oldFields = [] } = old
  if (oldExpressions.length === 0 && oldFields.length === 0) {
    return expressions.length === 0 && fields.length === 0
  }
  return (
    semanticEqual(expressions.slice(0, oldExpressions.length), oldExpressions) &&
    semanticEqual(fields.slice(0, oldFields.length), oldFields)
  )
}

const updatableFields = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]

/** All fields not validated above are immutable. */
function validateRest(spec: PodSpec, old: PodSpec): FieldError[] {
  const { activeDeadlineSeconds, tolerations, schedulingGates } = old
  const isGated = schedulingGates !== undefined && schedulingGates.length > 0
  const munged: PodSpec = {
    ...spec,
    containers: withImagesOf(spec.containers ?? [], old.containers ?? []),
    initContainers: withImagesOf(spec.initContainers ?? [], old.initContainers ?? []),
    activeDeadlineSeconds,
    tolerations,
    schedulingGates,
    ...(isGated && {
      nodeSelector: old.nodeSelector,
      affinity: withNodeAffinityOf(spec.affinity, old.affinity),
    }),
  }
  if (semanticEqual(munged, old)) return []
  const detail = `pod updates may not change fields other than ${updatableFields.join(',')}\n`
  return [forbiddenField('spec', detail + showChanges(munged, old))]
}

function withImagesOf(containers: readonly Container[], old: readonly Container[]): readonly Container[] {
  return containers.map((container, index) => ({ ...container, image: old[index]?.image }))
}

function withNodeAffinityOf(affinity: Affinity | undefined, old: Affinity | undefined): Affinity {
  return { ...affinity, nodeAffinity: old?.nodeAffinity }
}

/** Maximum length of a value in the list of changes. */
const shownCharactersMax = 200

/** The differing fields with old and new values. */
function showChanges(after: object, old: object): string {
  const left = new Map<string, unknown>(Object.entries(old))
  const right = new Map<string, unknown>(Object.entries(after))
  const names = [...new Set([...left.keys(), ...right.keys()])].sort()
  return names
    .filter(name => !semanticEqual(left.get(name), right.get(name)))
    .map(name => {
      const show = (value: unknown): string => showValue(value ?? null, shownCharactersMax)
      return `-${name}: ${show(left.get(name))}\n+${name}: ${show(right.get(name))}\n`
    })
    .join('')
}
