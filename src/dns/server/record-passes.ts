import type { Service } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Informers } from '#/client/informers.ts'
import type { PassLog } from '#/client/pass-log.ts'
import type { Clock } from '#/platform/platform.ts'
import { endpointsOf } from '../records/endpoints.ts'
import { serviceNameLabel } from './cluster-state.ts'

export interface RecordPassesOptions {
  readonly informers: Informers
  readonly passes: PassLog
  readonly clock: Clock
  readonly nodeName: string | undefined
  /** Changes are recorded, the initial lists are not. */
  readonly hasSynced: () => boolean
}

/**
 * Records a pass for each change that alters answers. Answers are made from the informers, so they follow a change as
 * soon as it is visible.
 */
export function recordPasses(options: RecordPassesOptions): void {
  const { informers } = options
  informers.of(services).addEventHandler((key, { oldObject, newObject }) => {
    if (!equalJson(namedBy(oldObject), namedBy(newObject))) record(key, options)
  })
  informers.of(endpointSlices).addEventHandler((_key, { oldObject, newObject }) => {
    const { namespace = '', labels } = (newObject ?? oldObject).metadata
    const service = labels?.[serviceNameLabel]
    if (service === undefined) return
    const [before, after] = [oldObject, newObject].map(slice => endpointsIn(slice))
    if (!equalJson(before, after)) record(`${namespace}/${service}`, options)
  })
}

/** The fields of a Service that answers depend on. */
function namedBy(service: Service | undefined): unknown {
  const { type, clusterIP, clusterIPs, externalName, ports } = service?.spec ?? {}
  return service && [type, clusterIP, clusterIPs, externalName, ports]
}

function endpointsIn(slice: EndpointSlice | undefined): unknown {
  return slice && endpointsOf([slice]).map(({ host, address, ports }) => [host, address, ports])
}

function record(
  key: string,
  { informers, passes, clock, nodeName: node, hasSynced }: RecordPassesOptions,
): void {
  const { revision } = informers.handled
  if (!hasSynced() || revision === undefined) return
  const nowMs = clock.now()
  passes.record({
    component: 'dns',
    ...(node !== undefined && { node }),
    key,
    causes: [revision],
    queuedMs: nowMs,
    startedMs: nowMs,
    endedMs: nowMs,
    steps: [{ name: 'update-records', startMs: 0, durationMs: 0 }],
  })
}
