import {
  forbiddenField,
  formatFieldErrors,
  invalid,
  notSupported,
  required,
  type FieldError,
} from '#/api/field-error.ts'
import { validateLabelName } from '#/api/labels.ts'
import type { ShapePoint, StrategySettings } from './strategy.ts'

export interface NodeResourcesFitArgs {
  readonly ignoredResources?: readonly string[]
  readonly ignoredResourceGroups?: readonly string[]
  readonly scoringStrategy?: StrategySettings
}

const types = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio']
const weightMax = 100
const utilizationMax = 100
const scoreMax = 10

/** Throws Error if they are invalid. */
export function readArgs(args: Readonly<Record<string, unknown>>): NodeResourcesFitArgs {
  // The args were decoded against their schema.
  const read = args as NodeResourcesFitArgs
  const { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy } = read
  const errors = [
    ...ignoredResources.flatMap((name, index) => validateLabelName(`ignoredResources[${index}]`, name)),
    ...ignoredResourceGroups.flatMap((name, index) => {
      return validateGroup(`ignoredResourceGroups[${index}]`, name)
    }),
    ...(scoringStrategy === undefined ? [] : validateStrategy('scoringStrategy', scoringStrategy)),
  ]
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return read
}

function validateGroup(field: string, name: string): FieldError[] {
  const slash = name.includes('/') ? [invalid(field, name, "resource group name can't contain '/'")] : []
  return [...slash, ...validateLabelName(field, name)]
}

function validateStrategy(field: string, settings: StrategySettings): FieldError[] {
  const { type = 'LeastAllocated', resources = [], requestedToCapacityRatio: ratio } = settings
  const errors: FieldError[] = types.includes(type) ? [] : [notSupported(`${field}.type`, type, types)]
  for (const [index, { name, weight = 1 }] of resources.entries()) {
    if (weight >= 0 && weight <= weightMax) continue
    const detail = `resource weight of ${name} not in valid range (0, ${weightMax}]`
    errors.push(invalid(`${field}.resources[${index}].weight`, weight, detail))
  }
  const at = `${field}.requestedToCapacityRatio`
  if (type !== 'RequestedToCapacityRatio') {
    const detail = 'must be nil when type is not RequestedToCapacityRatio'
    return ratio === undefined ? errors : [...errors, forbiddenField(at, detail)]
  }
  const needed = 'must be specified when type is RequestedToCapacityRatio'
  return [
    ...errors,
    ...(ratio === undefined ? [required(at, needed)] : validateShape(`${at}.shape`, ratio.shape ?? [])),
  ]
}

function validateShape(field: string, shape: readonly ShapePoint[]): FieldError[] {
  if (shape.length === 0) return [required(field, 'at least one point must be specified')]
  const errors: FieldError[] = []
  const wrong = shape.findIndex(
    (point, index) => index > 0 && shape[index - 1]!.utilization >= point.utilization,
  )
  if (wrong > 0) {
    const detail = 'values must be sorted in increasing order'
    errors.push(invalid(`${field}[${wrong}].utilization`, shape[wrong]!.utilization, detail))
  }
  for (const [index, { utilization, score }] of shape.entries()) {
    const at = `${field}[${index}]`
    if (utilization < 0 || utilization > utilizationMax) {
      errors.push(invalid(`${at}.utilization`, utilization, `not in valid range [0, ${utilizationMax}]`))
    }
    if (score < 0 || score > scoreMax) {
      errors.push(invalid(`${at}.score`, score, `not in valid range [0, ${scoreMax}]`))
    }
  }
  return errors
}
