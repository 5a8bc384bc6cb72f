/** Cell formatting shared by the tables of several kinds. */
import type { Container } from '../generated/core/v1.ts'
import type { LabelSelector as GeneratedLabelSelector } from '../generated/meta/v1.ts'
import { formatLabelSelector, type LabelSelector } from '../selectors/selector.ts'
import type { Unchecked } from './validation/unchecked.ts'

export function containerNames(containers: readonly Unchecked<Container>[] = []): string {
  return containers.map(container => container.name ?? '').join(',')
}

export function containerImages(containers: readonly Unchecked<Container>[] = []): string {
  return containers.map(container => container.image ?? '').join(',')
}

/** `a=1,b=2`; sorted by the whole pair, unlike the requirements of a selector. */
export function labelsText(labels: Readonly<Record<string, string>> = {}): string {
  const pairs: string[] = []
  for (const key of Object.keys(labels)) pairs.push(`${key}=${labels[key]}`)
  return pairs.sort().join(',') || '<none>'
}

export function selectorText(selector: Unchecked<GeneratedLabelSelector> | undefined): string {
  return selector === undefined || isComplete(selector) ? formatLabelSelector(selector) : '<error>'
}

function isComplete(selector: Unchecked<GeneratedLabelSelector>): selector is LabelSelector {
  const { matchExpressions = [] } = selector
  return matchExpressions.every(({ key, operator }) => key !== undefined && operator !== undefined)
}

/** Maximum number of list items in a cell. */
export const shownMax = 3

/** The first items of a list and the number of remaining ones: `a,b,c + 2 more...`. */
export function formatListWithMore(shown: readonly string[], count: number): string {
  const text = shown.join(',')
  return count > shown.length ? `${text} + ${count - shown.length} more...` : text
}

/** True if the first condition of the type has status True. */
export function isTrue(conditions: readonly Unchecked<Condition>[] | undefined, type: string): boolean {
  return conditions?.find(each => each.type === type)?.status === 'True'
}

interface Condition {
  readonly type: string
  readonly status: string
}

/** `deployment.apps`; in the core group only `pods`. */
export function withGroup(name: string, group: string | undefined): string {
  return group ? `${name}.${group}` : name
}

/** The addresses of a load balancer, sorted and without duplicates. */
export function loadBalancerStatusText(ingress: readonly BalancerAddress[] = []): string {
  const addresses = new Set<string>()
  for (const { ip, hostname } of ingress) if (ip || hostname) addresses.add(ip || hostname || '')
  return [...addresses].sort().join(',')
}

interface BalancerAddress {
  readonly ip?: string
  readonly hostname?: string
}

/** Number of keys. */
export function sizeOf(map: object = {}): number {
  return Object.keys(map).length
}
