/** A condition as decided; the writer adds observedGeneration and lastTransitionTime. */
export interface PlannedCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** Why a reference or a value cannot be used: reason and message of a condition. */
export interface Problem {
  readonly reason: string
  readonly message: string
}

export function conditionTrue(type: string, reason: string = type, message = ''): PlannedCondition {
  return { type, status: 'True', reason, message }
}

export function conditionFalse(type: string, { reason, message }: Problem): PlannedCondition {
  return { type, status: 'False', reason, message }
}
