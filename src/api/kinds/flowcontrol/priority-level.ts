/** Rules of PriorityLevelConfiguration. */
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  ExemptPriorityLevelConfiguration,
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from '../../generated/flowcontrol/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { annotationOf } from '../../metadata.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults, withField, withMissing } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateConditionTypes } from './conditions.ts'
import { mandatoryPriorityLevels } from './mandatory.ts'

export const priorityLevelRules: KindRules<PriorityLevelConfiguration> = {
  validatesMetadataOnce: true,
  tracksGeneration: true,
  statusKeepsMetadata: true,
  withDefaults: level => withField(level, 'spec', withLevelDefaults),
  validate: validateLevel,
  validateUpdate: validateLevel,
  validateStatusUpdate: ({ status = {} }) => validateConditionTypes(status.conditions),
}

type Spec = Unchecked<PriorityLevelConfigurationSpec>

/** Meaningful only in `v1beta3`, where it preserved zero concurrency shares; forbidden in v1. */
const zeroSharesAnnotation = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'

function withLevelDefaults(spec: PriorityLevelConfigurationSpec): PriorityLevelConfigurationSpec {
  const exempted = withField(spec, 'exempt', exempt => {
    return withMissing(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 })
  })
  return withField(exempted, 'limited', limited => {
    const filled = withMissing(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 })
    return withField(filled, 'limitResponse', response => withField(response, 'queuing', withQueuingDefaults))
  })
}

function withQueuingDefaults(queuing: QueuingConfiguration): QueuingConfiguration {
  return withDefaults(queuing, { handSize: 8, queues: 64, queueLengthLimit: 50 })
}

function validateLevel(level: PriorityLevelConfiguration): FieldError[] {
  const name = level.metadata.name ?? ''
  const spec: Spec = level.spec ?? {}
  const isOld = annotationOf(level, zeroSharesAnnotation) !== undefined
  return [
    ...(isOld
      ? [forbiddenField('metadata.annotations', `annotation '${zeroSharesAnnotation}' is forbidden`)]
      : []),
    ...validateType(name, spec),
    ...validateMandatory(name, spec),
  ]
}

function validateType(name: string, spec: Spec): FieldError[] {
  const { type = '', limited, exempt } = spec
  const errors: FieldError[] = []
  if ((name === 'exempt') !== (type === 'Exempt')) {
    errors.push(invalid('spec.type', type, "must be 'Exempt' if and only if `name` is 'exempt'"))
  }
  switch (type) {
    case '':
      return [...errors, required('spec.type', '')]
    case 'Exempt':
      if (limited) errors.push(forbiddenField('spec.limited', 'must be nil if the type is not Limited'))
      return [...errors, ...validateShares('spec.exempt', exempt ?? {})]
    case 'Limited':
      if (exempt) errors.push(forbiddenField('spec.exempt', 'must be nil if the type is Limited'))
      if (!limited) return [...errors, required('spec.limited', 'must not be empty when type is Limited')]
      return [...errors, ...validateLimited('spec.limited', limited)]
    default:
      return [...errors, notSupported('spec.type', type, ['Exempt', 'Limited'])]
  }
}

function validateLimited(field: string, limited: Unchecked<LimitedPriorityLevelConfiguration>): FieldError[] {
  const { borrowingLimitPercent: borrowed = 0 } = limited
  return [
    ...validateShares(field, limited),
    ...validateResponse(`${field}.limitResponse`, limited.limitResponse ?? {}),
    ...(borrowed < 0
      ? [invalid(`${field}.borrowingLimitPercent`, borrowed, 'if specified, must be a non-negative integer')]
      : []),
  ]
}

/** Validates concurrency shares and the lendable percentage. */
function validateShares(field: string, shares: Unchecked<ExemptPriorityLevelConfiguration>): FieldError[] {
  const { nominalConcurrencyShares: nominal = 0, lendablePercent: lent = 0 } = shares
  const errors: FieldError[] = []
  if (nominal < 0) {
    errors.push(invalid(`${field}.nominalConcurrencyShares`, nominal, 'must be a non-negative integer'))
  }
  if (lent < 0 || lent > 100) {
    errors.push(invalid(`${field}.lendablePercent`, lent, 'must be between 0 and 100, inclusive'))
  }
  return errors
}

function validateResponse(field: string, { type = '', queuing }: Unchecked<LimitResponse>): FieldError[] {
  switch (type) {
    case '':
      return [required(`${field}.type`, '')]
    case 'Queue':
      if (queuing) return validateQueuing(`${field}.queuing`, queuing)
      return [required(`${field}.queuing`, 'must not be empty if limited.limitResponse.type is Limited')]
    case 'Reject':
      if (!queuing) return []
      return [forbiddenField(`${field}.queuing`, 'must be nil if limited.limitResponse.type is not Limited')]
    default:
      return [notSupported(`${field}.type`, type, ['Queue', 'Reject'])]
  }
}

/** The mandatory levels must have their fixed spec; for `exempt`, the field `spec.exempt` may change. */
function validateMandatory(name: string, spec: Spec): FieldError[] {
  const mandatory = mandatoryPriorityLevels.get(name)
  if (!mandatory) return []
  if (name !== 'exempt') {
    if (semanticEqual(spec, mandatory)) return []
    return [invalid('spec', spec, `spec of '${name}' must equal the fixed value`)]
  }
  if (semanticEqual({ ...spec, exempt: mandatory.exempt }, mandatory)) return []
  const detail = `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`
  return [invalid('spec', spec, detail)]
}

/** By shuffle sharding, each flow is dealt a hand of queues and uses the shortest. */
function validateQueuing(field: string, queuing: QueuingConfiguration): FieldError[] {
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
