import type { Secret, ServiceAccount } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { isTokenOf, refersTo } from '../shared/token-secret.ts'
import { invalidSince, lastUsed } from './labels.ts'

export const dayMs = 24 * 3_600_000

interface Now {
  readonly nowMs: number
  readonly periodMs: number
}

export interface AgeWorld extends Now {
  readonly secret: Stored<Secret>
  /** The service account that the secret names. */
  readonly account: ServiceAccount | undefined
}

export type AgePlan =
  | { readonly action: 'keep' | 'look' }
  | { readonly action: 'wait'; readonly untilMs: number }

/** Decides from the secret's own data whether its token is a candidate for cleanup. */
export function planByAge({ secret, account, nowMs, periodMs }: AgeWorld): AgePlan {
  const { name, labels = {}, creationTimestamp } = secret.metadata
  const usedDay = labels[lastUsed]
  const usedMs = parseDay(usedDay)
  const createdMs = parseTime(creationTimestamp)
  const isGenerated = account !== undefined && isTokenOf(secret, account) && refersTo(account, name)
  const isUnclear = createdMs === undefined || (usedDay !== undefined && usedMs === undefined)
  if (isUnclear || !isGenerated || isBeingDeleted(secret)) return { action: 'keep' }
  const untilMs = 1 + Math.max(createdMs, usedMs === undefined ? 0 : usedMs + dayMs) + periodMs
  return nowMs < untilMs ? { action: 'wait', untilMs } : { action: 'look' }
}

export interface UnusedWorld extends Now {
  readonly secret: Secret
  /** Undefined if the API server does not track token use. */
  readonly trackedSinceMs: number | undefined
  /** True if a pod references the secret. */
  readonly isMounted: boolean
}

export type UnusedPlan =
  | { readonly action: 'wait'; readonly untilMs: number }
  | { readonly action: 'invalidate'; readonly day: string }
  | { readonly action: 'delete' }

/** The action for an old token that is not labeled as recently used. */
export function planUnused(world: UnusedWorld): UnusedPlan {
  const { secret, trackedSinceMs, isMounted, nowMs, periodMs } = world
  if (isMounted || trackedSinceMs === undefined) return { action: 'wait', untilMs: nowMs + dayMs }
  const knownMs = trackedSinceMs + dayMs + periodMs
  if (nowMs < knownMs) return { action: 'wait', untilMs: knownMs }
  const invalidMs = parseDay(secret.metadata.labels?.[invalidSince])
  if (invalidMs === undefined) return { action: 'invalidate', day: formatDay(nowMs) }
  const untilMs = invalidMs + dayMs + periodMs
  return nowMs < untilMs ? { action: 'wait', untilMs } : { action: 'delete' }
}

/** Start of a date such as `2026-02-28`; undefined if it cannot be parsed. */
export function parseDay(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? parseTime(`${text}T00:00:00Z`) : undefined
}

function formatDay(ms: number): string {
  return formatTime(ms).slice(0, 'yyyy-mm-dd'.length)
}
