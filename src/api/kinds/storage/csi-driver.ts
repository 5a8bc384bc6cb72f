/** Rules of CSIDriver. */
import { duplicate, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { CSIDriver, CSIDriverSpec, TokenRequest } from '../../generated/storage/v1.ts'
import { equalJson } from '../../text/json-value.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateOptionalChoice } from '../validation/field-checks.ts'
import { repetitions } from '../validation/repetitions.ts'
import { withField, withMissing, withoutField } from '../../copy-on-write.ts'

export const csiDriverRules: KindRules<CSIDriver> = {
  withDefaults: withDriverDefaults,
  prepareForCreate: withoutAlphaFields,
  prepareForUpdate: (driver, old) => {
    return old.spec?.preventPodSchedulingIfMissing === undefined ? withoutAlphaFields(driver) : driver
  },
  validate: driver => validateSpec(driver.spec ?? {}),
  validateUpdate: (driver, old) => [
    ...validateSpec(driver.spec ?? {}),
    // The misspelled path is Kubernetes'.
    ...validateImmutable(driver.spec?.attachRequired, old.spec?.attachRequired, 'spec.attachedRequired'),
    ...validateImmutable(
      driver.spec?.volumeLifecycleModes,
      old.spec?.volumeLifecycleModes,
      'spec.volumeLifecycleModes',
    ),
  ],
  warnings: warningsForDriver,
  allowUnconditionalUpdate: false,
  returnDeletedObject: true,
  tracksGeneration: 'on-update',
}

function withDriverDefaults(driver: CSIDriver): CSIDriver {
  const filled = withMissing(driver.spec ?? {}, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    requiresRepublish: false,
    seLinuxMount: false,
  })
  const hasModes = filled.volumeLifecycleModes?.length
  const spec = hasModes ? filled : { ...filled, volumeLifecycleModes: ['Persistent'] }
  return spec === driver.spec ? driver : { ...driver, spec }
}

/** Drops fields of features that are off by default. */
function withoutAlphaFields(driver: CSIDriver): CSIDriver {
  return withField(driver, 'spec', spec => withoutField(spec, 'preventPodSchedulingIfMissing'))
}

/** Required fields with their names in error messages. */
const requiredFields = [
  ['attachRequired', 'attachedRequired'],
  ['podInfoOnMount', 'podInfoOnMount'],
  ['storageCapacity', 'storageCapacity'],
] as const
const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType']
const lifecycleModes = ['Persistent', 'Ephemeral']
const updatePeriodSecondsMin = 10

function validateSpec(spec: CSIDriverSpec): FieldError[] {
  const { fsGroupPolicy, tokenRequests = [], volumeLifecycleModes = [], seLinuxMount } = spec
  const { nodeAllocatableUpdatePeriodSeconds: periodSeconds, serviceAccountTokenInSecrets: inSecrets } = spec
  const errors = requiredFields
    .filter(([name]) => spec[name] === undefined)
    .map(([, shown]) => required(`spec.${shown}`, ''))
  errors.push(
    ...validateOptionalChoice('spec.fsGroupPolicy', fsGroupPolicy, groupPolicies),
    ...validateTokenRequests('spec.tokenRequests', tokenRequests),
    ...volumeLifecycleModes
      .filter(mode => !lifecycleModes.includes(mode))
      .map(mode => notSupported('spec.volumeLifecycleModes', mode, lifecycleModes)),
  )
  if (seLinuxMount === undefined) errors.push(required('spec.seLinuxMount', ''))
  if (periodSeconds !== undefined && periodSeconds < updatePeriodSecondsMin) {
    const detail = `must be greater than or equal to ${updatePeriodSecondsMin} seconds`
    errors.push(invalid('spec.nodeAllocatableUpdatePeriodSeconds', periodSeconds, detail))
  }
  if (inSecrets !== undefined && tokenRequests.length === 0) {
    const detail = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified'
    errors.push(invalid('spec.serviceAccountTokenInSecrets', inSecrets, detail))
  }
  return errors
}

const tokenSecondsMin = 10 * 60
const tokenSecondsMax = 2 ** 32

/** Audiences must be unique; an empty audience is that of the API server. */
function validateTokenRequests(field: string, requests: readonly TokenRequest[]): FieldError[] {
  const audiences = requests.map(request => request.audience ?? '')
  const isRepeated = repetitions(audiences)
  return requests.flatMap(({ expirationSeconds: seconds }, index) => {
    const audience = audiences[index] ?? ''
    if (isRepeated[index]) return [duplicate(`${field}[${index}].audience`, audience)]
    const each = `${field}[${index}].expirationSeconds`
    if (seconds !== undefined && seconds < tokenSecondsMin) {
      return [invalid(each, seconds, 'may not specify a duration less than 10 minutes')]
    }
    if (seconds === undefined || seconds <= tokenSecondsMax) return []
    return [invalid(each, seconds, 'may not specify a duration larger than 2^32 seconds')]
  })
}

function warningsForDriver(driver: CSIDriver, old: CSIDriver | undefined): string[] {
  const { tokenRequests = [], serviceAccountTokenInSecrets } = driver.spec ?? {}
  if (tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return []
  if (old !== undefined && equalJson(tokenRequests, old.spec?.tokenRequests)) return []
  return [
    'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to ' +
      'prevent possible logging of tokens in volume attributes',
  ]
}
