/** Shows the alarms of the store: as checks of `/readyz`, which also name the alarm, and as Events. */
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { Event } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { StoreAlarm, StoreAlarms, StoreAlarmType } from '#/store/store.ts'
import type { HealthCheck } from './health.ts'
import { createObject } from './registry/create-object.ts'
import type { Registry } from './registry/registry.ts'
import { keyOf } from './registry/store-keys.ts'
import { systemWriteRequest } from './registry/system-write-request.ts'

/** Types of alarms, with the reasons of their Events. */
export const alarmReasons = {
  NOSPACE: 'StoreNoSpace',
  CORRUPT: 'StoreCorrupt',
  STALL: 'StoreStalled',
} as const satisfies Record<StoreAlarmType, string>

export function storeAlarmChecks(alarms: StoreAlarms): readonly HealthCheck[] {
  return Object.keys(alarmReasons).map(type => ({
    name: `etcd-alarm/${type.toLowerCase()}`,
    endpoints: ['readyz'],
    check: () => {
      const alarm = alarms.current.find(each => each.type === type)
      if (alarm) throw new Error(`alarm ${type}: ${alarm.message}`)
    },
  }))
}

/**
 * Writes an Event about the kube-system namespace for each alarm, until aborted. Events are best effort: the disk that
 * the alarm is about may not be able to store it.
 */
export function recordStoreAlarms(registry: Registry, signal: AbortSignal): void {
  const { alarms } = registry.store
  const record = (alarm: StoreAlarm): void => {
    recordAlarm(registry, alarm).catch((error: unknown) => {
      registry.platform.log.warn('Unable to write event', { reason: alarmReasons[alarm.type], error })
    })
  }
  for (const alarm of alarms.current) record(alarm)
  alarms.onChange((alarm, change) => {
    if (change === 'raised') record(alarm)
  }, signal)
}

async function recordAlarm(registry: Registry, { type, message }: StoreAlarm): Promise<void> {
  const { platform, cache, scheme } = registry
  const resource = scheme.byKind({ group: '', version: 'v1', kind: 'Event' })
  if (resource === undefined) return
  const now = formatTime(platform.clock.now())
  const name = `${subject}.${Buffer.from(platform.random.bytes('event name', 8)).toString('hex')}`
  const uid = cache.get(keyOf(namespaces, '', subject))?.object.metadata.uid
  const event: Event = {
    metadata: { namespace, name },
    involvedObject: { kind: 'Namespace', apiVersion: 'v1', name: subject, ...(uid && { uid }) },
    type: 'Warning',
    reason: alarmReasons[type],
    message,
    source: { component },
    reportingComponent: component,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  }
  const object: KubernetesObject = { ...event, kind: 'Event', apiVersion: 'v1' }
  await createObject(registry, systemWriteRequest(resource, name, namespace), object)
}

/** The object of the Events: a namespace that every cluster has. */
const subject = 'kube-system'

/** Of Events about cluster-scoped objects. */
const namespace = 'default'

const component = 'k8ts-apiserver'
