/** Maintains the Dangling condition of flow schemas: whether the referenced priority level exists. */
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { FlowSchema } from '#/api/generated/flowcontrol/v1.ts'
import { flowSchemas } from '#/api/generated/flowcontrol/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Registry } from '../registry/registry.ts'
import { updateObject } from '../registry/update-object.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import { levelsPrefix, readLevels, readSchemas, schemasPrefix } from './configuration.ts'

const retryMs = 10_000

/** Runs on every change of a flow schema or priority level until aborted. Never rejects. */
export async function reconcileDanglingConditions(registry: Registry, signal: AbortSignal): Promise<void> {
  const { cache, platform } = registry
  let changed = Promise.withResolvers<void>()
  const wake = (): void => changed.resolve()
  const subscriber = { onEvents: wake, onReset: wake }
  const prefixes = [schemasPrefix, levelsPrefix]
  for (const prefix of prefixes) cache.subscribe(prefix, subscriber)
  signal.addEventListener('abort', wake, { once: true })
  while (!signal.aborted) {
    changed = Promise.withResolvers()
    try {
      await look(registry)
      await changed.promise
    } catch (error) {
      platform.log.warn('failed to update Dangling condition of flow schemas', { error })
      await platform.clock.sleep(retryMs, signal).catch(() => undefined)
    }
  }
  for (const prefix of prefixes) cache.unsubscribe(prefix, subscriber)
}

async function look(registry: Registry): Promise<void> {
  const levels = new Set(readLevels(registry).map(({ metadata }) => metadata.name))
  const now = formatTime(registry.platform.clock.now())
  const said = (schema: FlowSchema): FlowSchema => {
    const { name = '' } = schema.spec?.priorityLevelConfiguration ?? {}
    const before = schema.status?.conditions
    const condition = { ...dangling(name, levels.has(name)), lastTransitionTime: now }
    const conditions = withCondition(before, condition)
    return conditions === before ? schema : { ...schema, status: { ...schema.status, conditions } }
  }
  for (const schema of readSchemas(registry)) {
    if (said(schema) === schema) continue
    const request = {
      ...systemWriteRequest(flowSchemas, schema.metadata.name),
      subresource: 'status',
      fieldManager,
    }
    try {
      await updateObject(registry, request, { change: before => said(before as FlowSchema) })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

const fieldManager = 'api-priority-and-fairness-config-consumer-v1'

function dangling(
  level: string,
  isThere: boolean,
): { type: string; status: string; reason: string; message: string } {
  const named = `This FlowSchema references the PriorityLevelConfiguration object named ${quote(level)}`
  return isThere
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${named} and it exists` }
    : {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message: `${named} but there is no such object`,
      }
}
