/**
 * Conversion of Event between `core/v1` and `events.k8s.io/v1`, which use different names for some fields.
 */
import type { Conversions } from '../../conversion.ts'
import type { Event as CoreEvent } from '../../generated/core/v1.ts'
import type { Event } from '../../generated/events/v1.ts'
import type { KubernetesObject } from '../../metadata.ts'

export const conversions: Conversions = {
  'v1 events.k8s.io/v1 Event': fromCoreEvent,
  'events.k8s.io/v1 v1 Event': toCoreEvent,
}

function fromCoreEvent(event: CoreEvent): KubernetesObject {
  const {
    involvedObject,
    message,
    source,
    firstTimestamp,
    lastTimestamp,
    count,
    reportingComponent,
    reportingInstance,
    ...same
  } = event
  return {
    ...same,
    apiVersion: 'events.k8s.io/v1',
    ...present({
      regarding: involvedObject,
      note: message,
      deprecatedSource: source,
      deprecatedFirstTimestamp: firstTimestamp,
      deprecatedLastTimestamp: lastTimestamp,
      deprecatedCount: count,
      reportingController: reportingComponent || undefined,
      reportingInstance: reportingInstance || undefined,
    }),
  }
}

function toCoreEvent(event: Event): CoreEvent {
  const {
    regarding,
    note,
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    reportingController,
    ...same
  } = event
  return {
    ...same,
    apiVersion: 'v1',
    metadata: event.metadata,
    involvedObject: regarding ?? {},
    ...present({
      message: note,
      source: deprecatedSource,
      firstTimestamp: deprecatedFirstTimestamp,
      lastTimestamp: deprecatedLastTimestamp,
      count: deprecatedCount,
      reportingComponent: reportingController,
    }),
  }
}

/** Removes undefined fields. */
function present<T extends object>(fields: T): Partial<T> {
  const left: Partial<T> = {}
  for (const name in fields) if (fields[name] !== undefined) left[name] = fields[name]
  return left
}
