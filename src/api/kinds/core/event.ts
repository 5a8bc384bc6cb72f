/**
 * Rules of Event in `core/v1`. An event with `eventTime` is validated by the stricter rules of
 * `events.k8s.io`. Requirements also depend on the API of the request, so `events/event.ts` builds on this.
 */
import { invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type { Event } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkDns1123Subdomain, checkQualifiedName, pathSegmentNames } from '../../names.ts'

/** Events are kept for one hour, the default of `--event-ttl`. */
export const eventTtlMs = 60 * 60 * 1_000

export const eventRules: KindRules<Event> = {
  ignoresPropagationPolicy: true,
  validatesMetadataOnce: true,
  names: pathSegmentNames,
  allowsUnqualifiedFinalizers: true,
  placesMetadataErrors: true,
  validate: (event, metadataErrors = []) => {
    const errors = validateEvent(event, 'reportingComponent')
    return errors.length > 0 ? errors : metadataErrors
  },
  validateUpdate: event => validateEvent(event, 'reportingComponent'),
  selectableFields: {
    'involvedObject.kind': event => event.involvedObject?.kind ?? '',
    'involvedObject.namespace': event => event.involvedObject?.namespace ?? '',
    'involvedObject.name': event => event.involvedObject?.name ?? '',
    'involvedObject.uid': event => event.involvedObject?.uid ?? '',
    'involvedObject.apiVersion': event => event.involvedObject?.apiVersion ?? '',
    'involvedObject.resourceVersion': event => event.involvedObject?.resourceVersion ?? '',
    'involvedObject.fieldPath': event => event.involvedObject?.fieldPath ?? '',
    'reason': event => event.reason ?? '',
    'reportingComponent': event => event.reportingComponent ?? '',
    'source': event => event.source?.component || (event.reportingComponent ?? ''),
    'type': event => event.type ?? '',
  },
  allowCreateOnUpdate: true,
  ttlMs: eventTtlMs,
}

/** Validation common to both APIs, which use different names for the reporter field. */
export function validateEvent(
  event: Event,
  reporterField: 'reportingComponent' | 'reportingController',
): FieldError[] {
  const namespace = event.metadata.namespace ?? ''
  const errors = event.eventTime ? validateNewEvent(event, reporterField) : validateOldEvent(event)
  return [...errors, ...invalidEach('namespace', namespace, checkDns1123Subdomain(namespace))]
}

/**
 * An event must be in the namespace of the involved object; for a cluster-scoped object it may be in
 * `default`.
 */
function validateOldEvent({ metadata, involvedObject }: Event): FieldError[] {
  const namespace = metadata.namespace ?? ''
  const involved = involvedObject?.namespace ?? ''
  const isInPlace = involved === '' ? namespace === '' || namespace === 'default' : namespace === involved
  return isInPlace ? [] : [otherNamespace(involved)]
}

function validateNewEvent(event: Event, reporterField: string): FieldError[] {
  const { reportingComponent = '', reportingInstance = '', action = '', reason = '', message = '' } = event
  const namespace = event.metadata.namespace ?? ''
  const involved = event.involvedObject?.namespace ?? ''
  const isInPlace = involved !== '' || namespace === 'default' || namespace === 'kube-system'
  const errors: FieldError[] = isInPlace ? [] : [otherNamespace(involved)]
  if (reportingComponent === '') errors.push(required(reporterField, ''))
  errors.push(
    ...invalidEach(reporterField, reportingComponent, checkQualifiedName(reportingComponent)),
    ...validateText('reportingInstance', reportingInstance),
    ...validateText('action', action),
    ...validateText('reason', reason),
    ...validateLength('message', message, messageBytesMax),
  )
  return errors
}

const textBytesMax = 128
const messageBytesMax = 1_024

function validateText(field: string, text: string): FieldError[] {
  return text === '' ? [required(field, '')] : validateLength(field, text, textBytesMax)
}

function validateLength(field: string, text: string, bytesMax: number): FieldError[] {
  if (Buffer.byteLength(text) <= bytesMax) return []
  return [invalid(field, '', `can have at most ${bytesMax} characters`)]
}

function otherNamespace(involved: string): FieldError {
  return invalid('involvedObject.namespace', involved, 'does not match event.namespace')
}
