/** Validation of job updates: which fields are mutable, and when the pod template is. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { Job, JobSpec } from '../../generated/batch/v1.ts'
import type { Affinity, Container, PodSpec, PodTemplateSpec } from '../../generated/core/v1.ts'
import { sameMeaning } from '../core/pod/same-meaning.ts'
import { isConditionTrue } from './job-conditions.ts'
import { validateJob } from './job-validation.ts'

export function validateJobUpdate(job: Job, before: Job): FieldError[] {
  const spec: Partial<JobSpec> = job.spec ?? {}
  const old: Partial<JobSpec> = before.spec ?? {}
  const fixed = fixedFields.flatMap(name => validateUnchanged(`spec.${name}`, spec[name], old[name]))
  return [
    ...validateJob(job),
    ...validateCompletions('spec.completions', spec, old),
    ...validateTemplateUpdate(spec.template ?? {}, old.template ?? {}, mayChangeTemplate(before)),
    ...fixed,
  ]
}

const fixedFields = [
  'selector',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const

function validateUnchanged(field: string, value: unknown, before: unknown): FieldError[] {
  return sameMeaning(value, before) ? [] : [invalid(field, value ?? null, 'field is immutable')]
}

/** `completions` of an Indexed job may change if it equals `parallelism`. */
function validateCompletions(field: string, spec: Partial<JobSpec>, before: Partial<JobSpec>): FieldError[] {
  const { completions, parallelism, completionMode } = spec
  if (completionMode !== 'Indexed') return validateUnchanged(field, completions, before.completions)
  if (completions === undefined || completions === before.completions || completions === parallelism) {
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
  before: PodTemplateSpec,
  mayChange: boolean,
): FieldError[] {
  if (!mayChange) return validateUnchanged('spec.template', template, before)
  const allowed = withSchedulingOf(before, template)
  const spec = allowed.spec && withResourcesOf(allowed.spec, template.spec)
  return validateUnchanged('spec.template.spec', template.spec, spec)
}

/** The old template with the scheduling directives of the new one. */
function withSchedulingOf(before: PodTemplateSpec, { spec }: PodTemplateSpec): PodTemplateSpec {
  if (before.spec === undefined) return before
  const { nodeSelector, tolerations, schedulingGates, affinity } = spec ?? {}
  return {
    ...before,
    spec: {
      ...before.spec,
      nodeSelector,
      tolerations,
      schedulingGates,
      affinity: withNodeAffinityOf(before.spec.affinity, affinity),
    },
  }
}

function withNodeAffinityOf(before: Affinity | undefined, affinity: Affinity | undefined): Affinity {
  return { ...before, nodeAffinity: affinity?.nodeAffinity }
}

/** The old pod spec with the container resources of the new one. */
function withResourcesOf(before: PodSpec, spec: PodSpec | undefined): PodSpec {
  return {
    ...before,
    containers: withResources(before.containers ?? [], spec?.containers ?? []),
    ...(before.initContainers && {
      initContainers: withResources(before.initContainers, spec?.initContainers ?? []),
    }),
  }
}

function withResources(before: readonly Container[], containers: readonly Container[]): readonly Container[] {
  if (before.length !== containers.length) return before
  return before.map((old, index) => {
    const container = containers[index]
    return container?.name === old.name ? { ...old, resources: container.resources } : old
  })
}
