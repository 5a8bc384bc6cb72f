/** Rules of LimitRange. */
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { LimitRange, LimitRangeItem } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkQualifiedName } from '../../names.ts'
import { compareQuantities, formatQuantity, quantityToNumber, type Quantity } from '../../text/quantity.ts'
import { repetitions } from '../validation/repetitions.ts'
import { amountsOf, type ResourceList } from '../../core/resource-amounts.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { isOvercommitAllowed, validateContainerResource } from '../../core/resource-names.ts'
import { mapCopyOnWrite, withField } from '../../copy-on-write.ts'
import { validateResourceName } from '../validation/resource-quantities.ts'

export const limitRangeRules: KindRules<LimitRange> = {
  validatesMetadataOnce: true,
  withDefaults: range =>
    withField(range, 'spec', spec => {
      return withField(spec, 'limits', limits => mapCopyOnWrite(limits, withLimitDefaults))
    }),
  validate: validateLimitRange,
  validateUpdate: validateLimitRange,
  allowCreateOnUpdate: true,
  namesItself: true,
}

const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const

/** For containers, `default` is filled from `max`, and `defaultRequest` from `default`, then from `min`. */
function withLimitDefaults(given: LimitRangeItem): LimitRangeItem {
  const limit = lists.reduce((item, name) => withField(item, name, roundUp), given)
  if (limit.type !== 'Container') return limit
  const limits = withAbsent(limit.default, limit.max)
  const requests = withAbsent(withAbsent(limit.defaultRequest, limits), limit.min)
  if (limits === limit.default && requests === limit.defaultRequest) return limit
  return { ...limit, ...(limits && { default: limits }), ...(requests && { defaultRequest: requests }) }
}

function withAbsent(list: ResourceList | undefined, others: ResourceList = {}): ResourceList | undefined {
  const isComplete = Object.keys(others).every(name => list !== undefined && Object.hasOwn(list, name))
  return isComplete ? list : { ...others, ...list }
}

function validateLimitRange({ spec }: LimitRange): FieldError[] {
  const limits = spec?.limits ?? []
  const types = limits.map(limit => limit.type ?? '')
  const isRepeated = repetitions(types)
  return limits.flatMap((limit, index) => {
    const field = `spec.limits[${index}]`
    const type = types[index] ?? ''
    return [
      ...validateType(`${field}.type`, type),
      ...(isRepeated[index] ? [duplicate(`${field}.type`, type)] : []),
      ...validateNames(field, limit),
      ...validateAmounts(field, limit),
    ]
  })
}

const limitTypes = ['Pod', 'Container', 'PersistentVolumeClaim']

function validateType(field: string, type: string): FieldError[] {
  const errors = invalidEach(field, type, checkQualifiedName(type))
  if (errors.length > 0 || type.includes('/') || limitTypes.includes(type)) return errors
  return [invalid(field, type, 'must be a standard limit type or fully qualified')]
}

/** Validates the resource names, and which lists may be used for the type. */
function validateNames(field: string, limit: LimitRangeItem): FieldError[] {
  const isForPods = limit.type === 'Pod' || limit.type === 'Container'
  const validateName = isForPods ? validateContainerResource : validateResourceName
  return lists.flatMap(list => {
    const names = Object.keys(limit[list] ?? {})
    const isDefault = list === 'default' || list === 'defaultRequest'
    if (limit.type === 'Pod' && isDefault) {
      const detail = "may not be specified when `type` is 'Pod'"
      return names.length > 0 ? [forbiddenField(`${field}.${list}`, detail)] : []
    }
    const errors = names.flatMap(name => validateName(`${field}.${list}[${name}]`, name))
    return list === 'defaultRequest' ? [...errors, ...validateStorageLimits(field, limit)] : errors
  })
}

function validateStorageLimits(field: string, { type, min, max }: LimitRangeItem): FieldError[] {
  const isLimited = min?.['storage'] !== undefined || max?.['storage'] !== undefined
  if (type !== 'PersistentVolumeClaim' || isLimited) return []
  const detail = 'either minimum or maximum storage value is required, but neither was provided'
  return [required(`${field}.limits`, detail)]
}

/** Quantities of a single resource. */
interface Amounts {
  readonly min?: Quantity
  readonly max?: Quantity
  readonly limit?: Quantity
  readonly request?: Quantity
  readonly ratio?: Quantity
}

function validateAmounts(field: string, item: LimitRangeItem): FieldError[] {
  const isPod = item.type === 'Pod'
  const [min, max, ratio] = [amountsOf(item.min), amountsOf(item.max), amountsOf(item.maxLimitRequestRatio)]
  const [limit, request] = [amountsOf(isPod ? {} : item.default), amountsOf(isPod ? {} : item.defaultRequest)]
  const names = new Set([max, min, limit, request, ratio].flatMap(amounts => [...amounts.keys()]))
  return [...names].flatMap(name => {
    const amounts: Amounts = {
      min: min.get(name),
      max: max.get(name),
      limit: limit.get(name),
      request: request.get(name),
      ratio: ratio.get(name),
    }
    return [
      ...validateOrder(field, name, amounts),
      ...validateRatio(`${field}.maxLimitRequestRatio[${name}]`, amounts),
      ...validateOvercommit(field, name, amounts),
    ]
  })
}

function validateOrder(field: string, name: string, { min, max, limit, request }: Amounts): FieldError[] {
  const errors: FieldError[] = []
  const inOrder = ({ list, shown }: Shown, low: Named, high: Named): void => {
    if (!low.amount || !high.amount || !shown || compareQuantities(low.amount, high.amount) <= 0) return
    const [less, more] = [low, high].map(({ words, amount }) => `${words} ${formatQuantity(amount ?? shown)}`)
    errors.push(
      invalid(`${field}.${list}[${name}]`, formatQuantity(shown), `${less} is greater than ${more}`),
    )
  }
  const least: Named = { words: 'min value', amount: min }
  const most: Named = { words: 'max value', amount: max }
  const asked: Named = { words: 'default request value', amount: request }
  const given: Named = { words: 'default value', amount: limit }
  inOrder({ list: 'min', shown: min }, least, most)
  inOrder({ list: 'defaultRequest', shown: request }, least, asked)
  inOrder({ list: 'defaultRequest', shown: request }, asked, most)
  inOrder({ list: 'defaultRequest', shown: request }, asked, { words: 'default limit value', amount: limit })
  inOrder({ list: 'default', shown: min }, least, given)
  inOrder({ list: 'default', shown: max }, given, most)
  return errors
}

/** The field and value of an error. */
interface Shown {
  readonly list: 'min' | 'default' | 'defaultRequest'
  readonly shown: Quantity | undefined
}

interface Named {
  readonly words: string
  readonly amount: Quantity | undefined
}

function validateRatio(field: string, { min, max, ratio }: Amounts): FieldError[] {
  if (ratio === undefined) return []
  const text = formatQuantity(ratio)
  const errors = quantityToNumber(ratio) < 1 ? [invalid(field, text, `ratio ${text} is less than 1`)] : []
  if (min === undefined || max === undefined) return errors
  const largest = quantityToNumber(max) / quantityToNumber(min)
  if (!(quantityToNumber(ratio) > largest)) return errors
  return [...errors, invalid(field, text, `ratio ${text} is greater than max/min = ${largest.toFixed(6)}`)]
}

/** For resources that cannot be overcommitted, the default limit must equal the default request. */
function validateOvercommit(field: string, name: string, { limit, request }: Amounts): FieldError[] {
  if (isOvercommitAllowed(name) || limit === undefined || request === undefined) return []
  if (compareQuantities(limit, request) === 0) return []
  const [given, asked] = [formatQuantity(limit), formatQuantity(request)]
  const detail = `default value ${given} must equal to defaultRequest value ${asked} in ${name}`
  return [invalid(`${field}.defaultRequest[${name}]`, asked, detail)]
}
