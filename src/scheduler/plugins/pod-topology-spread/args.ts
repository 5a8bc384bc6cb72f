import type { TopologySpreadConstraint } from '#/api/generated/core/v1.ts'
import {
  duplicate,
  forbiddenField,
  formatFieldErrors,
  invalid,
  notSupported,
  required,
  type FieldError,
} from '#/api/field-error.ts'
import { validateLabelName } from '#/api/labels.ts'

/** The constraints of pods without their own. */
export interface Defaults {
  readonly constraints: readonly TopologySpreadConstraint[]
  /** True for the built-in defaults: nodes without their labels are not penalized. */
  readonly isSystem: boolean
}

const systemConstraints: readonly TopologySpreadConstraint[] = [
  { topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
]

const actions = ['DoNotSchedule', 'ScheduleAnyway']
const defaultings = ['System', 'List']

/** Throws Error if they are invalid. */
export function readDefaults(args: Readonly<Record<string, unknown>>): Defaults {
  // The args were decoded against their schema.
  const { defaultingType = 'System', defaultConstraints = [] } = args as {
    readonly defaultingType?: string
    readonly defaultConstraints?: readonly TopologySpreadConstraint[]
  }
  const errors = [
    ...validateDefaulting(defaultingType, defaultConstraints),
    ...defaultConstraints.flatMap((_, index) => validateConstraint(defaultConstraints, index)),
  ]
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  const isSystem = defaultingType === 'System'
  return { constraints: isSystem ? systemConstraints : defaultConstraints, isSystem }
}

function validateDefaulting(type: string, constraints: readonly TopologySpreadConstraint[]): FieldError[] {
  if (!defaultings.includes(type)) return [notSupported('defaultingType', type, defaultings)]
  if (type === 'List' || constraints.length === 0) return []
  return [invalid('defaultingType', type, 'when .defaultConstraints are not empty')]
}

function validateConstraint(all: readonly TopologySpreadConstraint[], index: number): FieldError[] {
  const field = `defaultConstraints[${index}]`
  const { maxSkew, topologyKey, whenUnsatisfiable, labelSelector } = all[index]!
  const errors: FieldError[] = []
  if (maxSkew <= 0) errors.push(invalid(`${field}.maxSkew`, maxSkew, 'not in valid range (0, inf)'))
  if (topologyKey === '') errors.push(required(`${field}.topologyKey`, 'can not be empty'))
  else errors.push(...validateLabelName(`${field}.topologyKey`, topologyKey))
  if (whenUnsatisfiable === '') errors.push(required(`${field}.whenUnsatisfiable`, 'can not be empty'))
  else if (!actions.includes(whenUnsatisfiable))
    errors.push(notSupported(`${field}.whenUnsatisfiable`, whenUnsatisfiable, actions))
  if (labelSelector !== undefined) {
    const detail = 'constraint must not define a selector, as they deduced for each pod'
    errors.push(forbiddenField(`${field}.labelSelector`, detail))
  }
  const isRepeated = all
    .slice(0, index)
    .some(each => each.topologyKey === topologyKey && each.whenUnsatisfiable === whenUnsatisfiable)
  if (isRepeated) errors.push(duplicate(field, `{${topologyKey}, ${whenUnsatisfiable}}`))
  return errors
}
