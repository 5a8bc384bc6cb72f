/** Status conditions. */

export interface Condition {
  readonly type?: string
  readonly status?: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

export function conditionOf<T extends Condition>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined {
  return conditions?.find(condition => condition.type === type)
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditionOf(conditions, type)?.status === 'True'
}

/**
 * Sets the condition of this type. `lastTransitionTime` is kept while the status is unchanged; the same list
 * is returned if status, reason and message are unchanged.
 */
export function withCondition<T extends Condition>(
  conditions: readonly T[] | undefined,
  condition: T & { readonly type: string },
): readonly T[] {
  const before = conditionOf(conditions, condition.type)
  if (before === undefined) return [...(conditions ?? []), condition]
  const { status, reason, message } = condition
  if (before.status === status && before.reason === reason && before.message === message)
    return conditions ?? []
  const since = before.status === status ? before.lastTransitionTime : condition.lastTransitionTime
  const next = since === undefined ? condition : { ...condition, lastTransitionTime: since }
  return (conditions ?? []).map(each => (each === before ? next : each))
}

export function withoutCondition<T extends Condition>(
  conditions: readonly T[] | undefined,
  type: string,
): readonly T[] | undefined {
  const left = conditions?.filter(condition => condition.type !== type)
  return left?.length === conditions?.length ? conditions : left
}
