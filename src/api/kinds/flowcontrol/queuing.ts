/**
 * Validation of queuing configuration. By shuffle sharding, each flow is dealt a hand of queues and uses the
 * shortest.
 */
import { invalid, type FieldError } from '../../field-error.ts'
import type { QueuingConfiguration } from '../../generated/flowcontrol/v1.ts'

export function validateQueuing(field: string, queuing: QueuingConfiguration): FieldError[] {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing
  const errors: FieldError[] = []
  if (queueLengthLimit <= 0) {
    errors.push(invalid(`${field}.queueLengthLimit`, queueLengthLimit, 'must be positive'))
  }
  if (queues <= 0) errors.push(invalid(`${field}.queues`, queues, 'must be positive'))
  if (queues > queuesMax) {
    errors.push(invalid(`${field}.queues`, queues, `must not be greater than ${queuesMax}`))
  }
  const problem = checkHand(handSize, queues)
  return problem === undefined ? errors : [...errors, invalid(`${field}.handSize`, handSize, problem)]
}

const queuesMax = 10_000_000
/** Number of hash bits available for dealing a hand. */
const hashBits = 60

function checkHand(handSize: number, queues: number): string | undefined {
  if (handSize <= 0) return 'must be positive'
  if (handSize > queues) return `should not be greater than queues (${queues})`
  if (Math.ceil(Math.log2(queues) * handSize) <= hashBits) return undefined
  return (
    `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ` +
    String(hashBits)
  )
}
