/** An expression was accepted but failed on the values it was given, or cost too much. */
export class EvaluationError extends Error {
  readonly reason: 'fault' | 'cost'

  constructor(message: string, reason: 'fault' | 'cost') {
    super(message)
    this.name = 'EvaluationError'
    this.reason = reason
  }
}
