/**
 * Rules of APIService, which registers the server of a group and version. Local ones are available at once; the
 * aggregator sets the Available condition of the others.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
 */
import { localAvailability } from '../../api-service-status.ts'
import { invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type { APIService, APIServiceSpec } from '../../generated/apiregistration/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import {
  checkDns1035Label,
  checkDns1123Subdomain,
  checkPathSegmentName,
  checkPortNumber,
  pathSegmentNames,
} from '../../names.ts'
import { quote } from '../../text/quote.ts'
import { validateOptionalChoice, validatePresent } from '../validation/field-checks.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export const apiServiceRules: KindRules<APIService> = {
  statusKeepsMetadata: true,
  allowsUnqualifiedFinalizers: true,
  names: pathSegmentNames,
  allowUnconditionalUpdate: false,
  withDefaults: service => withField(service, 'spec', withPort),
  prepareForCreate: withLocalAvailability,
  validate: validateApiService,
  validateUpdate: validateApiService,
  validateStatusUpdate: validateStatus,
}

const groupPriorityMax = 20_000
const versionPriorityMax = 1_000
const statuses = ['True', 'False', 'Unknown']

function withPort(spec: APIServiceSpec): APIServiceSpec {
  return withField(spec, 'service', service => withMissing(service, { port: 443 }))
}

function withLocalAvailability(apiService: APIService): APIService {
  const { metadata, spec } = apiService
  if (spec?.service !== undefined) return apiService
  const { creationTimestamp } = metadata
  const since = creationTimestamp === undefined ? {} : { lastTransitionTime: creationTimestamp }
  return { ...apiService, status: { conditions: [{ type: 'Available', ...localAvailability, ...since }] } }
}

function validateApiService({ metadata, spec = {} }: Unchecked<APIService>): FieldError[] {
  return [
    ...validateName('metadata.generateName', metadata?.generateName ?? '', spec),
    ...validateName('metadata.name', metadata?.name ?? '', spec),
    ...validateGroupVersion(spec),
    ...validatePriorities(spec),
    ...(spec.service ? validateService(spec, spec.service) : validateLocal(spec)),
  ]
}

function validateName(
  field: string,
  name: string,
  { group = '', version = '' }: Unchecked<APIServiceSpec>,
): FieldError[] {
  const expected = `${version}.${group}`
  if (name === '' || name === expected || checkPathSegmentName(name).length > 0) return []
  return [invalid(field, name, `must be \`spec.version+"."+spec.group\`: ${quote(expected)}`)]
}

function validateGroupVersion({ group = '', version = '' }: Unchecked<APIServiceSpec>): FieldError[] {
  const detail = 'only v1 may have an empty group and it better be legacy kube'
  const missing = group === '' && version !== 'v1' ? [required('spec.group', detail)] : []
  return [
    ...missing,
    ...(group === '' ? [] : invalidEach('spec.group', group, checkDns1123Subdomain(group))),
    ...invalidEach('spec.version', version, checkDns1035Label(version)),
  ]
}

function validatePriorities(spec: Unchecked<APIServiceSpec>): FieldError[] {
  const { groupPriorityMinimum: group = 0, versionPriority: version = 0 } = spec
  const errors: FieldError[] = []
  if (group <= 0 || group > groupPriorityMax) {
    const detail = `must be positive and less than ${groupPriorityMax}`
    errors.push(invalid('spec.groupPriorityMinimum', group, detail))
  }
  if (version <= 0 || version > versionPriorityMax) {
    const detail = `must be positive and less than ${versionPriorityMax}`
    errors.push(invalid('spec.versionPriority', version, detail))
  }
  return errors
}

/** A local APIService needs no TLS settings. */
function validateLocal({ caBundle = '', insecureSkipTLSVerify }: Unchecked<APIServiceSpec>): FieldError[] {
  const errors: FieldError[] = []
  if (caBundle !== '') {
    const size = `${Buffer.byteLength(caBundle, 'base64')} bytes`
    errors.push(invalid('spec.caBundle', size, 'local APIServices may not have a caBundle'))
  }
  if (insecureSkipTLSVerify) {
    const detail = 'local APIServices may not have insecureSkipTLSVerify'
    errors.push(invalid('spec.insecureSkipTLSVerify', true, detail))
  }
  return errors
}

function validateService(
  { caBundle = '', insecureSkipTLSVerify }: Unchecked<APIServiceSpec>,
  { namespace, name, port = 0 }: NonNullable<Unchecked<APIServiceSpec>['service']>,
): FieldError[] {
  const problems = checkPortNumber(port)
  return [
    ...validatePresent('spec.service.namespace', namespace),
    ...validatePresent('spec.service.name', name),
    ...(problems.length === 0
      ? []
      : [invalid('spec.service.port', port, `port is not valid: ${problems.join(', ')}`)]),
    ...(insecureSkipTLSVerify && caBundle !== ''
      ? [invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present')]
      : []),
  ]
}

function validateStatus({ status = {} }: Unchecked<APIService>): FieldError[] {
  return (status.conditions ?? []).flatMap((condition, index) => {
    return validateOptionalChoice(`status.conditions[${index}].status`, condition.status ?? '', statuses)
  })
}
