import type { Taint } from '#/api/generated/core/v1.ts'
import { checkLabelValue, checkQualifiedName } from '#/api/names.ts'

export interface TaintChanges {
  readonly added: readonly Taint[]
  /** Without an effect, those of all effects. */
  readonly removed: readonly RemovedTaint[]
}

export interface RemovedTaint {
  readonly key: string
  readonly effect: string
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** `key=value:effect`, `key:effect-`, `key-`. Throws Error. */
export function parseTaints(specs: readonly string[]): TaintChanges {
  const added: Taint[] = []
  const removed: RemovedTaint[] = []
  for (const spec of specs) {
    if (spec.endsWith('-')) {
      const { key, effect } = parseTaint(spec.slice(0, -1))
      removed.push({ key, effect })
      continue
    }
    const { key, value, effect } = parseTaint(spec)
    if (effect === '') throw new Error(`invalid taint spec: ${spec}`)
    if (added.some(taint => taint.key === key && taint.effect === effect)) {
      throw new Error(`duplicated taints with the same key and effect: {${key} ${value} ${effect} <nil>}`)
    }
    added.push({ key, ...(value !== '' && { value }), effect })
  }
  return { added, removed }
}

function parseTaint(spec: string) {
  const [first = '', effect, ...others] = spec.split(':')
  if (others.length > 0) throw new Error(`invalid taint spec: ${spec}`)
  if (effect !== undefined && !effects.includes(effect)) {
    throw new Error(`invalid taint effect: ${effect}, unsupported taint effect`)
  }
  // Only a taint with an effect has a value.
  const [key = '', value = '', ...rest] = effect === undefined ? [first] : first.split('=')
  if (rest.length > 0) throw new Error(`invalid taint spec: ${spec}`)
  const reasons = checkLabelValue(value)
  if (reasons.length === 0) reasons.push(...checkQualifiedName(key))
  if (reasons.length > 0) throw new Error(`invalid taint spec: ${spec}, ${reasons.join('; ')}`)
  return { key, value, effect: effect ?? '' }
}

/** Taints that are both added and removed: `a=NoSchedule`. */
export function conflictingTaints({ added, removed }: TaintChanges): readonly string[] {
  return added.flatMap(taint =>
    removed
      .filter(({ key, effect }) => key === taint.key && (effect === '' || effect === taint.effect))
      .map(({ key, effect }) => `${key}=${effect}`),
  )
}

export interface TaintPlan {
  readonly operation: 'tainted' | 'untainted' | 'modified'
  readonly taints: readonly Taint[]
}

export interface TaintOptions extends TaintChanges {
  readonly node: string
  readonly taints: readonly Taint[] | undefined
  readonly overwrite: boolean
}

/** Throws Error for taints that exist already or do not exist, AggregateError for several of them. */
export function planTaints({ node, taints = [], added, removed, overwrite }: TaintOptions): TaintPlan {
  const existing = added.filter(taint => taints.some(each => isSame(each, taint)))
  if (existing.length > 0 && !overwrite) {
    const keys = existing.map(({ key }) => key).join(',')
    throw new Error(`node ${node} already has ${keys} taint(s) with same effect(s) and --overwrite is false`)
  }
  const merged = [...added, ...taints.filter(taint => !added.some(each => isSame(each, taint)))]
  const hasMore = merged.length !== taints.length
  const missing: string[] = []
  let remaining: readonly Taint[] = merged
  let hasRemoved = false
  for (const { key, effect } of removed) {
    const kept = remaining.filter(taint => taint.key !== key || (effect !== '' && taint.effect !== effect))
    hasRemoved = kept.length < remaining.length
    if (!hasRemoved) missing.push(`taint "${effect === '' ? key : `${key}:${effect}`}" not found`)
    remaining = kept
  }
  if (missing.length > 0) {
    const errors = missing.map(text => new Error(text))
    throw errors.length === 1 ? errors[0]! : new AggregateError(errors)
  }
  const isModified = (hasMore && hasRemoved) || overwrite
  return { operation: isModified ? 'modified' : hasMore ? 'tainted' : 'untainted', taints: remaining }
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect
}
