/** Checks the resources of pods and claims against the constraints of a LimitRange. */
import type {
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  Pod,
  ResourceRequirements,
} from '#/api/generated/core/v1.ts'
import { aggregatePodResources } from '#/api/core/pod-resources.ts'
import {
  compareQuantities,
  isZeroQuantity,
  normalizeQuantity,
  formatQuantity,
  quantityToNumber,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { specOf } from '../pod-spec.ts'

export function checkPod({ spec }: LimitRange, pod: Pod): readonly string[] {
  const { containers, initContainers = [], ...rest } = specOf(pod)
  return (spec?.limits ?? []).flatMap(item => {
    if (item.type === 'Container')
      return [...containers, ...initContainers].flatMap(each => checkResources(item, askedBy(each.resources)))
    if (item.type !== 'Pod') return []
    const whole = { ...rest, containers, initContainers }
    return checkResources(item, {
      requests: amount(aggregatePodResources(whole, 'requests')),
      limits: amount(aggregatePodResources(whole, 'limits')),
    })
  })
}

export function checkClaim({ spec }: LimitRange, claim: PersistentVolumeClaim): readonly string[] {
  const { requests } = askedBy(claim.spec?.resources)
  return (spec?.limits ?? []).flatMap(item =>
    item.type !== 'PersistentVolumeClaim'
      ? []
      : [
          ...each(item.min, bound => checkMin(item, bound, { requests, limits: () => undefined })),
          ...each(item.max, bound => checkMaxRequest(item, bound, requests)),
        ],
  )
}

/** A quantity and its text for messages. */
interface Amount {
  readonly quantity: Quantity
  readonly text: string
}

type Asked = (name: string) => Amount | undefined

interface Asking {
  readonly requests: Asked
  readonly limits: Asked
}

interface Bound extends Amount {
  readonly name: string
}

function askedBy(resources: Pick<ResourceRequirements, 'requests' | 'limits'> | undefined): Asking {
  return { requests: written(resources?.requests), limits: written(resources?.limits) }
}

function written(list: Readonly<Record<string, string>> | undefined): Asked {
  return name => (list !== undefined && Object.hasOwn(list, name) ? parse(list[name]!) : undefined)
}

function amount(amounts: ReadonlyMap<string, Quantity>): Asked {
  return name => {
    const quantity = amounts.get(name)
    return quantity && { quantity, text: formatQuantity(quantity) }
  }
}

function parse(text: string): Amount {
  return { quantity: tryParseQuantity(text) ?? zeroQuantity, text: normalizeQuantity(text) ?? text }
}

function each(bounds: LimitRangeItem['min'], check: (bound: Bound) => string | undefined): readonly string[] {
  return Object.entries(bounds ?? {}).flatMap(([name, text]) => check({ name, ...parse(text) }) ?? [])
}

function checkResources(item: LimitRangeItem, asking: Asking): readonly string[] {
  return [
    ...each(item.min, bound => checkMin(item, bound, asking)),
    ...each(item.max, bound => checkMax(item, bound, asking)),
    ...each(item.maxLimitRequestRatio, bound => checkRatio(item, bound, asking)),
  ]
}

function checkMin(
  { type }: LimitRangeItem,
  { name, quantity, text }: Bound,
  { requests, limits }: Asking,
): string | undefined {
  const request = requests(name)
  const limit = limits(name)
  const head = `minimum ${name} usage per ${type} is ${text}`
  if (request === undefined) return `${head}.  No request is specified`
  if (compareQuantities(request.quantity, quantity) < 0) return `${head}, but request is ${request.text}`
  return limit && compareQuantities(limit.quantity, quantity) < 0
    ? `${head}, but limit is ${limit.text}`
    : undefined
}

function checkMax(
  { type }: LimitRangeItem,
  { name, quantity, text }: Bound,
  { requests, limits }: Asking,
): string | undefined {
  const request = requests(name)
  const limit = limits(name)
  const head = `maximum ${name} usage per ${type} is ${text}`
  if (limit === undefined) return `${head}.  No limit is specified`
  if (compareQuantities(limit.quantity, quantity) > 0) return `${head}, but limit is ${limit.text}`
  return request && compareQuantities(request.quantity, quantity) > 0
    ? `${head}, but request is ${request.text}`
    : undefined
}

function checkMaxRequest(
  { type }: LimitRangeItem,
  { name, quantity, text }: Bound,
  requests: Asked,
): string | undefined {
  const request = requests(name)
  const head = `maximum ${name} usage per ${type} is ${text}`
  if (request === undefined) return `${head}.  No request is specified`
  return compareQuantities(request.quantity, quantity) > 0
    ? `${head}, but request is ${request.text}`
    : undefined
}

function checkRatio(
  { type }: LimitRangeItem,
  { name, quantity, text }: Bound,
  { requests, limits }: Asking,
): string | undefined {
  const request = requests(name)
  const limit = limits(name)
  const head = `${name} max limit to request ratio per ${type} is ${text}`
  if (request === undefined || isZeroQuantity(request.quantity)) {
    return `${head}, but no request is specified or request is 0`
  }
  if (limit === undefined || isZeroQuantity(limit.quantity))
    return `${head}, but no limit is specified or limit is 0`
  // Compares limit with ratio × request instead of dividing, so nothing is rounded.
  const isWithin = limit.quantity.nanos * nanosInOne <= request.quantity.nanos * quantity.nanos
  const ratio = quantityToNumber(limit.quantity) / quantityToNumber(request.quantity)
  return isWithin ? undefined : `${head}, but provided ratio is ${ratio.toFixed(6)}`
}

const nanosInOne = 1_000_000_000n
