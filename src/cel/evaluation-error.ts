/** A run-time failure of a valid expression, or an exceeded cost limit. */
export class EvaluationError extends Error {
  readonly reason: 'fault' | 'cost'

  constructor(message: string, reason: 'fault' | 'cost') {
    super(message)
    this.name = 'EvaluationError'
    this.reason = reason
  }
}
