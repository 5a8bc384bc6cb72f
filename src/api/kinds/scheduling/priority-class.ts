/**
 * Rules of PriorityClass.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
 */
import { forbiddenField, type FieldError } from '../../field-error.ts'
import type { PriorityClass } from '../../generated/scheduling/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateChoice } from '../validation/field-checks.ts'
import { withMissing } from '../../copy-on-write.ts'

export const priorityClassRules: KindRules<PriorityClass> = {
  withDefaults: priorityClass => withMissing(priorityClass, { preemptionPolicy: 'PreemptLowerPriority' }),
  /** The generation is always 1, since all relevant fields are immutable. */
  prepareForCreate: priorityClass => {
    return { ...priorityClass, metadata: { ...priorityClass.metadata, generation: 1 } }
  },
  validate: priorityClass => [...validatePriority(priorityClass), ...validatePreemption(priorityClass)],
  validateUpdate: validateUnchanged,
}

/** Maximum priority of user-defined classes. */
const userPriorityMax = 1_000_000_000
const systemPrefix = 'system-'

/** The built-in priority classes with their values. */
const systemPriorities: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
])

function validatePriority({ metadata, value = 0, globalDefault = false }: PriorityClass): FieldError[] {
  const name = metadata.name ?? ''
  if (!name.startsWith(systemPrefix)) {
    if (value <= userPriorityMax) return []
    return [forbiddenField('value', `maximum allowed value of a user defined priority is ${userPriorityMax}`)]
  }
  const problem = checkSystemClass(name, value, globalDefault)
  if (problem === undefined) return []
  const detail =
    `priority class names with '${systemPrefix}' prefix are reserved for system use ` +
    `only. error: ${problem}`
  return [forbiddenField('metadata.name', detail)]
}

function checkSystemClass(name: string, value: number, globalDefault: boolean): string | undefined {
  const priority = systemPriorities.get(name)
  if (priority === undefined) return `${name} is not a known system priority class`
  if (value !== priority) return `value of ${name} PriorityClass must be ${priority}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}

function validatePreemption({ preemptionPolicy }: PriorityClass): FieldError[] {
  return validateChoice('preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never'])
}

/** Pods copy the priority on creation, so the value must not change afterwards. */
function validateUnchanged(priorityClass: PriorityClass, old: PriorityClass): FieldError[] {
  const isSame = (priorityClass.value ?? 0) === (old.value ?? 0)
  return [
    ...(isSame ? [] : [forbiddenField('value', 'may not be changed in an update.')]),
    ...validateImmutable(priorityClass.preemptionPolicy, old.preemptionPolicy, 'preemptionPolicy'),
  ]
}
