/** Validation of pod updates. Few fields are mutable, since the containers may already be running. */
import { forbiddenField, invalid, type FieldError } from '../../../field-error.ts'
import type {
  Affinity,
  Container,
  NodeSelectorTerm,
  Pod,
  PodSchedulingGate,
  PodSpec,
  Toleration,
} from '../../../generated/core/v1.ts'
import { quote, showValue } from '../../../quote.ts'
import { validatePodAnnotationsUpdate } from './pod-annotation-validation.ts'
import { specOf, validatePod } from './pod-validation.ts'
import { sameMeaning } from './same-meaning.ts'
import { isMirrorPod } from './validation-context.ts'

export function validatePodUpdate(pod: Pod, before: Pod): FieldError[] {
  const spec = specOf(pod)
  const old = specOf(before)
  const errors = [...validatePod(pod), ...validateAnnotationsUpdate(pod, before)]
  const countErrors = (['containers', 'initContainers'] as const)
    .filter(name => (spec[name] ?? []).length !== (old[name] ?? []).length)
    .map(name => forbiddenField(`spec.${name}`, 'pod updates may not add or remove containers'))
  if (countErrors.length > 0) return [...errors, ...countErrors]
  return [
    ...errors,
    ...validateDeadlineUpdate('spec.activeDeadlineSeconds', spec, old),
    ...validateTolerationsUpdate('spec.tolerations', spec.tolerations ?? [], old.tolerations ?? []),
    ...validateGatesUpdate('spec.schedulingGates', spec.schedulingGates ?? [], old.schedulingGates ?? []),
    ...(old.schedulingGates?.length ? validateGatedUpdate(spec, old) : []),
    ...validateRest(spec, old),
  ]
}

/** Ephemeral containers may be added through their subresource, but not changed or removed. */
export function validateEphemeralContainersUpdate(pod: Pod, before: Pod): FieldError[] {
  if (isMirrorPod(before.metadata)) {
    return [forbiddenField('', 'static pods do not support ephemeral containers')]
  }
  const field = 'spec.ephemeralContainers'
  const kept = new Map((pod.spec?.ephemeralContainers ?? []).map(container => [container.name, container]))
  const changes = (before.spec?.ephemeralContainers ?? []).flatMap(old => {
    const container = kept.get(old.name)
    const subject = `existing ephemeral containers ${quote(old.name)}`
    if (container === undefined) return [forbiddenField(field, `${subject} may not be removed\n`)]
    if (sameMeaning(container, old)) return []
    return [forbiddenField(field, `${subject} may not be changed\n${showChanges(container, old)}`)]
  })
  return [...validatePod(pod), ...validateAnnotationsUpdate(pod, before), ...changes]
}

function validateAnnotationsUpdate(pod: Pod, before: Pod): FieldError[] {
  const annotations = pod.metadata?.annotations ?? {}
  return validatePodAnnotationsUpdate('metadata.annotations', annotations, before.metadata?.annotations ?? {})
}

/** `activeDeadlineSeconds` may be set or reduced. */
function validateDeadlineUpdate(field: string, spec: PodSpec, before: PodSpec): FieldError[] {
  const { activeDeadlineSeconds: seconds } = spec
  const { activeDeadlineSeconds: old } = before
  if (old === undefined) return []
  if (seconds === undefined) {
    return [invalid(field, null, 'must not update from a positive integer to nil value')]
  }
  return seconds > old ? [invalid(field, seconds, 'must be less than or equal to previous value')] : []
}

/** Tolerations may be added, and `tolerationSeconds` may change. */
function validateTolerationsUpdate(
  field: string,
  tolerations: readonly Toleration[],
  before: readonly Toleration[],
): FieldError[] {
  const identity = ({ key = '', operator = '', value = '', effect = '' }: Toleration): string => {
    return JSON.stringify([key, operator, value, effect])
  }
  const kept = new Set(tolerations.map(identity))
  if (before.every(toleration => kept.has(identity(toleration)))) return []
  return [forbiddenField(field, 'existing toleration can not be modified except its tolerationSeconds')]
}

function validateGatesUpdate(
  field: string,
  gates: readonly PodSchedulingGate[],
  before: readonly PodSchedulingGate[],
): FieldError[] {
  const known = new Set(before.map(gate => gate.name))
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
function validateGatedUpdate(spec: PodSpec, before: PodSpec): FieldError[] {
  const { nodeSelector = {} } = spec
  const keepsSelector = Object.entries(before.nodeSelector ?? {}).every(([key, value]) => {
    return nodeSelector[key] === value
  })
  const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
  const errors = keepsSelector ? [] : [invalid('spec.nodeSelector', nodeSelector, detail)]
  return [...errors, ...validateTermsUpdate(requiredTerms(spec), requiredTerms(before))]
}

function requiredTerms({ affinity }: PodSpec): readonly NodeSelectorTerm[] {
  return affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
}

function validateTermsUpdate(
  terms: readonly NodeSelectorTerm[],
  before: readonly NodeSelectorTerm[],
): FieldError[] {
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  if (before.length === 0) return []
  if (terms.length !== before.length) {
    return [invalid(field, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')]
  }
  return terms.flatMap((term, index) => {
    const old = before[index]
    if (old === undefined || onlyAdds(term, old)) return []
    return [invalid(`${field}[${index}]`, term, 'only additions are allowed (no mutations or deletions)')]
  })
}

/** A term without requirements matches nothing; adding requirements would make it match more nodes. */
function onlyAdds(term: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const { matchExpressions: expressions = [], matchFields: fields = [] } = term
  const { matchExpressions: oldExpressions = [], matchFields: oldFields = [] } = before
  if (oldExpressions.length === 0 && oldFields.length === 0) {
    return expressions.length === 0 && fields.length === 0
  }
  return (
    sameMeaning(expressions.slice(0, oldExpressions.length), oldExpressions) &&
    sameMeaning(fields.slice(0, oldFields.length), oldFields)
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
function validateRest(spec: PodSpec, before: PodSpec): FieldError[] {
  const { activeDeadlineSeconds, tolerations, schedulingGates } = before
  const isGated = schedulingGates !== undefined && schedulingGates.length > 0
  const munged: PodSpec = {
    ...spec,
    containers: withImagesOf(spec.containers ?? [], before.containers ?? []),
    initContainers: withImagesOf(spec.initContainers ?? [], before.initContainers ?? []),
    activeDeadlineSeconds,
    tolerations,
    schedulingGates,
    ...(isGated && {
      nodeSelector: before.nodeSelector,
      affinity: withNodeAffinityOf(spec.affinity, before.affinity),
    }),
  }
  if (sameMeaning(munged, before)) return []
  const detail = `pod updates may not change fields other than ${updatableFields.join(',')}\n`
  return [forbiddenField('spec', detail + showChanges(munged, before))]
}

function withImagesOf(containers: readonly Container[], before: readonly Container[]): readonly Container[] {
  return containers.map((container, index) => ({ ...container, image: before[index]?.image }))
}

function withNodeAffinityOf(affinity: Affinity | undefined, before: Affinity | undefined): Affinity {
  return { ...affinity, nodeAffinity: before?.nodeAffinity }
}

/** Maximum length of a value in the list of changes. */
const shownCharactersMax = 200

/** The differing fields with old and new values. */
function showChanges(after: object, before: object): string {
  const left = new Map<string, unknown>(Object.entries(before))
  const right = new Map<string, unknown>(Object.entries(after))
  const names = [...new Set([...left.keys(), ...right.keys()])].sort()
  return names
    .filter(name => !sameMeaning(left.get(name), right.get(name)))
    .map(name => {
      const show = (value: unknown): string => showValue(value ?? null, shownCharactersMax)
      return `-${name}: ${show(left.get(name))}\n+${name}: ${show(right.get(name))}\n`
    })
    .join('')
}
