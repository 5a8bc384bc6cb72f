/**
 * Evaluates a validating policy for one request: a decision for each validation, and the audit annotations.
 */
import type { Clock } from '#/platform/platform.ts'
import { ExpressionRun, CostBudgetExceeded, type Outcome } from '#/cel/expression-run.ts'
import type { PolicyVariables } from '#/cel/policy-variables.ts'
import type { Value } from '#/cel/value.ts'
import type { CompiledValidatingPolicy, CompiledValidation } from './compile-policy.ts'

/** Cost budget of all expressions of a policy for one binding, as in Kubernetes. */
export const policyCostMax = 10_000_000

/** Maximum size of a messageExpression result; a longer one is ignored. */
const messageBytesMax = 5 * 1024

/** Maximum size of an audit annotation value; a longer one is truncated. */
const annotationBytesMax = 10 * 1024

export interface Denial {
  /** Index in `spec.validations`. */
  readonly index: number
  readonly message: string
  /** Absent if the validation failed with an error instead of evaluating to false. */
  readonly reason?: string
  readonly seconds: number
}

export interface Validated {
  readonly denials: readonly Denial[]
  /** Errors of audit annotations; they reject the request regardless of the binding's validationActions. */
  readonly annotationErrors: readonly { readonly message: string; readonly seconds: number }[]
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

export interface Evaluation {
  /** CEL variables, with and without `authorizer`. */
  readonly inputs: Readonly<Record<string, Value>>
  readonly inputsWithoutAuthorizer: Readonly<Record<string, Value>>
  readonly clock: Clock
}

export async function evaluateValidations(
  policy: CompiledValidatingPolicy,
  evaluation: Evaluation,
): Promise<Validated> {
  try {
    const denials = await decide(policy, evaluation)
    return { denials, ...(await annotate(policy, evaluation)) }
  } catch (error) {
    if (!(error instanceof CostBudgetExceeded)) throw error
    return failed(error.message)
  }
}

/** The result when no expression of the policy could be evaluated. */
export function failed(message: string): Validated {
  return { denials: [{ index: 0, message, seconds: 0 }], annotationErrors: [], annotations: [] }
}

/** Throws CostBudgetExceeded. */
async function decide(
  { validations, variables }: CompiledValidatingPolicy,
  { inputs, inputsWithoutAuthorizer, clock }: Evaluation,
): Promise<readonly Denial[]> {
  const run = new ExpressionRun({ inputs, costMax: policyCostMax, variables })
  const outcomes: (Outcome & { readonly seconds: number })[] = []
  for (const { condition } of validations) outcomes.push(await timed(clock, () => run.evaluate(condition)))
  const messages = new Messages({ inputs: inputsWithoutAuthorizer, costMax: run.costLeft, variables })
  const denials: Denial[] = []
  for (const [index, validation] of validations.entries()) {
    const { value, error, seconds } = outcomes[index]!
    if (error !== undefined) denials.push({ index, message: error, seconds })
    else if (value !== true) denials.push({ index, ...(await messages.for(validation)), seconds })
  }
  return denials
}

async function timed<T extends object>(
  clock: Clock,
  work: () => Promise<T>,
): Promise<T & { readonly seconds: number }> {
  const startedMs = clock.monotonicMs()
  const result = await work()
  return { ...result, seconds: (clock.monotonicMs() - startedMs) / 1_000 }
}

/** Failure messages of validations. */
class Messages {
  readonly #run: ExpressionRun
  #exceeded: CostBudgetExceeded | undefined

  constructor(options: {
    readonly inputs: Readonly<Record<string, Value>>
    readonly costMax: number
    readonly variables: PolicyVariables
  }) {
    this.#run = new ExpressionRun(options)
  }

  /** `reason` is absent when the cost budget is exceeded. */
  async for(validation: CompiledValidation): Promise<Pick<Denial, 'message' | 'reason'>> {
    const { condition, message = '', reason = 'Invalid' } = validation
    const evaluated = await this.#evaluate(validation)
    if (this.#exceeded) return { message: `failed messageExpression: ${this.#exceeded.message}` }
    const chosen = evaluated || message.trim() || `failed expression: ${condition.expression.trim()}`
    return { message: chosen, reason }
  }

  /** Empty if the expression fails, or its result is multi-line, too long or not a string. */
  async #evaluate({ messageExpression }: CompiledValidation): Promise<string> {
    if (messageExpression === undefined || this.#exceeded) return ''
    try {
      const { value } = await this.#run.evaluate(messageExpression)
      const text = typeof value === 'string' ? value.trim() : ''
      return text.includes('\n') || Buffer.byteLength(text) > messageBytesMax ? '' : text
    } catch (error) {
      if (!(error instanceof CostBudgetExceeded)) throw error
      this.#exceeded = error
      return ''
    }
  }
}

/** Throws CostBudgetExceeded. */
async function annotate(
  { auditAnnotations, variables }: CompiledValidatingPolicy,
  { inputsWithoutAuthorizer: inputs, clock }: Evaluation,
): Promise<Pick<Validated, 'annotations' | 'annotationErrors'>> {
  const annotations: [string, string][] = []
  const annotationErrors: { readonly message: string; readonly seconds: number }[] = []
  if (auditAnnotations.length === 0) return { annotations, annotationErrors }
  const run = new ExpressionRun({ inputs, costMax: policyCostMax, variables })
  for (const { key, value: expression } of auditAnnotations) {
    const { value, error, seconds } = await timed(clock, () => run.evaluate(expression))
    if (error !== undefined) annotationErrors.push({ message: error, seconds })
    else if (typeof value === 'string' && value.trim() !== '') {
      annotations.push([key, truncated(value.trim())])
    }
  }
  return { annotations, annotationErrors }
}

/** Truncates at a character boundary. */
function truncated(text: string): string {
  if (Buffer.byteLength(text) <= annotationBytesMax) return text
  const bytes = Buffer.from(text).subarray(0, annotationBytesMax)
  return new TextDecoder().decode(bytes, { stream: true })
}
