/**
 * Rules of Event in `events.k8s.io`: stricter than those of `core/v1`, and only the series is mutable. Rules
 * run on the stored form, which is that of `core/v1`, and errors use its field names.
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { Event } from '../../generated/core/v1.ts'
import { equalJson } from '../../text/json-value.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { eventTtlMs, validateEvent } from '../core/event.ts'

export const eventRules: KindRules<Event> = {
  ignoresPropagationPolicy: true,
  placesMetadataErrors: true,
  validate: (event, metadataErrors = []) => [
    ...validateEvent(event, 'reportingController'),
    ...metadataErrors,
    ...validateSeries(event),
    ...validateNew(event),
  ],
  validateUpdate: (event, old) => [
    ...validateEvent(event, 'reportingController'),
    ...validateUnchanged(event, old),
  ],
  selectableFields: {
    'regarding.kind': event => event.involvedObject?.kind ?? '',
    'regarding.namespace': event => event.involvedObject?.namespace ?? '',
    'regarding.name': event => event.involvedObject?.name ?? '',
    'regarding.uid': event => event.involvedObject?.uid ?? '',
    'regarding.apiVersion': event => event.involvedObject?.apiVersion ?? '',
    'regarding.resourceVersion': event => event.involvedObject?.resourceVersion ?? '',
    'regarding.fieldPath': event => event.involvedObject?.fieldPath ?? '',
    'reason': event => event.reason ?? '',
    'reportingController': event => event.reportingComponent ?? '',
    'type': event => event.type ?? '',
  },
  allowCreateOnUpdate: true,
  ttlMs: eventTtlMs,
}

function validateNew(event: Event): FieldError[] {
  const { type = '', source } = event
  const errors = event.eventTime ? [] : [required('eventTime', '')]
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid('type', '', `has invalid value: ${type}`))
  const unset = (field: string) => errors.push(invalid(field, '', 'needs to be unset'))
  if (event.firstTimestamp) unset('firstTimestamp')
  if (event.lastTimestamp) unset('lastTimestamp')
  if (event.count) unset('count')
  if (source?.component || source?.host) unset('source')
  return errors
}

/** The count of a series must be at least 2. */
function validateSeries({ series }: Event): FieldError[] {
  if (series === undefined) return []
  const errors: FieldError[] = []
  if ((series.count ?? 0) < 2) errors.push(invalid('series.count', '', 'should be at least 2'))
  if (!series.lastObservedTime) errors.push(required('series.lastObservedTime', ''))
  return errors
}

/** Immutable fields with the value that stands for absent. */
const immutableFields: readonly (readonly [field: keyof Event, empty: unknown, shown?: string])[] = [
  ['involvedObject', {}],
  ['reason', ''],
  ['message', ''],
  ['source', {}],
  ['firstTimestamp', null],
  ['lastTimestamp', null],
  ['count', 0],
  // Kubernetes compares it twice.
  ['reason', ''],
  ['type', ''],
  ['eventTime', null],
  ['action', ''],
  ['related', null],
  ['reportingComponent', '', 'reportingController'],
  ['reportingInstance', ''],
]

function validateUnchanged(event: Event, old: Event): FieldError[] {
  const errors = equalJson(event.series, old.series) ? [] : validateSeries(event)
  return [
    ...errors,
    ...immutableFields.flatMap(([field, empty, shown = field]) => {
      return validateImmutable(event[field] ?? empty, old[field] ?? empty, shown)
    }),
  ]
}
