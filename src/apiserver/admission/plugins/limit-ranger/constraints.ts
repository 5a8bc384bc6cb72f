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
  const amounts = [['request', requests]] as const
  return (spec?.limits ?? []).flatMap(item =>
    item.type !== 'PersistentVolumeClaim'
      ? []
      : [
          ...each(item.min, bound => checkBound(item, bound, { side: 'minimum', amounts })),
          ...each(item.max, bound => checkBound(item, bound, { side: 'maximum', amounts })),
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
  const request = ['request', asking.requests] as const
  const limit = ['limit', asking.limits] as const
  return [
    ...each(item.min, bound => checkBound(item, bound, { side: 'minimum', amounts: [request, limit] })),
    ...each(item.max, bound => checkBound(item, bound, { side: 'maximum', amounts: [limit, request] })),
    ...each(item.maxLimitRequestRatio, bound => checkRatio(item, bound, asking)),
  ]
}

/** The first amount must be specified; none may be beyond the bound. */
interface Bounded {
  readonly side: 'minimum' | 'maximum'
  readonly amounts: readonly (readonly [what: 'request' | 'limit', asked: Asked])[]
}

function checkBound(
  { type }: LimitRangeItem,
  { name, quantity, text }: Bound,
  { side, amounts }: Bounded,
): string | undefined {
  const head = `${side} ${name} usage per ${type} is ${text}`
  for (const [index, [what, asked]] of amounts.entries()) {
    const found = asked(name)
    if (found === undefined) {
      if (index === 0) return `${head}.  No ${what} is specified`
      continue
    }
    const difference = compareQuantities(found.quantity, quantity)
    if (side === 'minimum' ? difference < 0 : difference > 0) return `${head}, but ${what} is ${found.text}`
  }
  return undefined
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
