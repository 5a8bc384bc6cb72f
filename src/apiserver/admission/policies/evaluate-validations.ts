/** What a validating policy makes of one request: a decision for each validation, and what the audit log is told. */
import type { Clock } from '#/platform/platform.ts'
import { ExpressionRun, OutOfBudget, type Outcome } from '#/cel/expression-run.ts'
import type { PolicyVariables } from '#/cel/policy-variables.ts'
import type { Value } from '#/cel/value.ts'
import type { CompiledValidatingPolicy, CompiledValidation } from './compile-policy.ts'

/** What all expressions of a policy may cost for one binding, as in Kubernetes. */
export const policyCostMax = 10_000_000

/** Bytes of a message that an expression makes; a longer one is not used. */
const messageBytesMax = 5 * 1024

/** Bytes of a value in the audit log; what is longer is cut off. */
const annotationBytesMax = 10 * 1024

export interface Denial {
  /** The place of the validation. */
  readonly index: number
  readonly message: string
  /** Absent when the validation could not be evaluated, rather than that it does not hold. */
  readonly reason?: string
  readonly seconds: number
}

export interface Validated {
  readonly denials: readonly Denial[]
  /** What could not be evaluated, which refuses the request whatever the binding wants. */
  readonly annotationErrors: readonly { readonly message: string; readonly seconds: number }[]
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

export interface Evaluation {
  /** What expressions see, with and without who may do what. */
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
    if (!(error instanceof OutOfBudget)) throw error
    return failed(error.message)
  }
}

/** Nothing of the policy could be evaluated. */
export function failed(message: string): Validated {
  return { denials: [{ index: 0, message, seconds: 0 }], annotationErrors: [], annotations: [] }
}

/** Throws OutOfBudget. */
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

/** What validations that do not hold say. */
class Messages {
  readonly #run: ExpressionRun
  #exceeded: OutOfBudget | undefined

  constructor(options: {
    readonly inputs: Readonly<Record<string, Value>>
    readonly costMax: number
    readonly variables: PolicyVariables
  }) {
    this.#run = new ExpressionRun(options)
  }

  /** Without a reason when the budget is used up. */
  async for(validation: CompiledValidation): Promise<Pick<Denial, 'message' | 'reason'>> {
    const { condition, message = '', reason = 'Invalid' } = validation
    const evaluated = await this.#evaluate(validation)
    if (this.#exceeded) return { message: `failed messageExpression: ${this.#exceeded.message}` }
    const chosen = evaluated || message.trim() || `failed expression: ${condition.expression.trim()}`
    return { message: chosen, reason }
  }

  /** Empty when the expression gives nothing that could be shown. */
  async #evaluate({ messageExpression }: CompiledValidation): Promise<string> {
    if (messageExpression === undefined || this.#exceeded) return ''
    try {
      const { value } = await this.#run.evaluate(messageExpression)
      const text = typeof value === 'string' ? value.trim() : ''
      return text.includes('\n') || Buffer.byteLength(text) > messageBytesMax ? '' : text
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
      this.#exceeded = error
      return ''
    }
  }
}

/** Throws OutOfBudget. */
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

/** Whole characters only. */
function truncated(text: string): string {
  if (Buffer.byteLength(text) <= annotationBytesMax) return text
  const bytes = Buffer.from(text).subarray(0, annotationBytesMax)
  return new TextDecoder().decode(bytes, { stream: true })
}
