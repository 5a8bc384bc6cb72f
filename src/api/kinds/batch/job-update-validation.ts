/** Validation of job updates: which fields are mutable, and when the pod template is. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { Job, JobSpec } from '../../generated/batch/v1.ts'
import type { Affinity, Container, PodSpec, PodTemplateSpec } from '../../generated/core/v1.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { isConditionTrue } from './job-conditions.ts'
import { validateJob, validateSelectedSpec } from './job-validation.ts'

export function validateJobUpdate(job: Job, old: Job): FieldError[] {
  const spec: Partial<JobSpec> = job.spec ?? {}
  const oldSpec: Partial<JobSpec> = old.spec ?? {}
  const fixed = fixedFields.flatMap(name => validateUnchanged(`spec.${name}`, spec[name], oldSpec[name]))
  // Kubernetes validates the spec twice, and clients see both errors.
  return [
    ...validateJob(job),
    ...validateSelectedSpec('spec', spec),
    ...validateCompletions('spec.completions', spec, oldSpec),
    ...validateUnchanged('spec.selector', spec.selector, oldSpec.selector),
    ...validateTemplateUpdate(spec.template ?? {}, oldSpec.template ?? {}, mayChangeTemplate(old)),
    ...fixed,
  ]
}

const fixedFields = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const

function validateUnchanged(field: string, value: unknown, old: unknown): FieldError[] {
  return semanticEqual(value, old) ? [] : [invalid(field, value ?? null, 'field is immutable')]
}

/** `completions` of an Indexed job may change if it equals `parallelism`. */
function validateCompletions(field: string, spec: Partial<JobSpec>, old: Partial<JobSpec>): FieldError[] {
  const { completions, parallelism, completionMode } = spec
  if (completionMode !== 'Indexed') return validateUnchanged(field, completions, old.completions)
  if (completions === undefined || completions === old.completions || completions === parallelism) {
    return []
  }
  return [invalid(field, completions, 'can only be modified in tandem with spec.parallelism')]
}

/** Scheduling directives and resources are mutable while the job is suspended and has no active pods. */
function mayChangeTemplate({ spec, status }: Job): boolean {
  const isStopped = status?.startTime === undefined || isConditionTrue(status.conditions, 'Suspended')
  return spec?.suspend === true && isStopped && !status?.active
}

function validateTemplateUpdate(
  template: PodTemplateSpec,
  old: PodTemplateSpec,
  mayChange: boolean,
): FieldError[] {
  if (!mayChange) return validateUnchanged('spec.template', template, old)
  const allowed = withSchedulingOf(old, template)
  const spec = allowed.spec && withResourcesOf(allowed.spec, template.spec)
  return validateUnchanged('spec.template.spec', template.spec, spec)
}

/** The old template with the scheduling directives of the new one. */
function withSchedulingOf(old: PodTemplateSpec, { spec }: PodTemplateSpec): PodTemplateSpec {
  if (old.spec === undefined) return old
  const { nodeSelector, tolerations, schedulingGates, affinity } = spec ?? {}
  return {
    ...old,
    spec: {
      ...old.spec,
      nodeSelector,
      tolerations,
      schedulingGates,
      affinity: withNodeAffinityOf(old.spec.affinity, affinity),
    },
  }
}

function withNodeAffinityOf(old: Affinity | undefined, affinity: Affinity | undefined): Affinity {
  return { ...old, nodeAffinity: affinity?.nodeAffinity }
}

/** The old pod spec with the container resources of the new one. */
function withResourcesOf(old: PodSpec, spec: PodSpec | undefined): PodSpec {
  return {
    ...old,
    containers: withResources(old.containers ?? [], spec?.containers ?? []),
    ...(old.initContainers && {
      initContainers: withResources(old.initContainers, spec?.initContainers ?? []),
    }),
  }
}

function withResources(old: readonly Container[], containers: readonly Container[]): readonly Container[] {
  if (old.length !== containers.length) return old
  return old.map((oldContainer, index) => {
    const container = containers[index]
    return container?.name === oldContainer.name
      ? { ...oldContainer, resources: container.resources }
      : oldContainer
  })
}
