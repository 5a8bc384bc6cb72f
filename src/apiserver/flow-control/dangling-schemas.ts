/** Maintains the Dangling condition of flow schemas: whether the referenced priority level exists. */
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import { flowSchemas } from '#/api/generated/flowcontrol/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Registry } from '../registry/registry.ts'
import { applyStatus } from '../registry/apply-status.ts'
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
  const lastTransitionTime = formatTime(registry.platform.clock.now())
  for (const schema of readSchemas(registry)) {
    const { name = '' } = schema.spec?.priorityLevelConfiguration ?? {}
    const before = schema.status?.conditions
    const conditions = withCondition(before, { ...dangling(name, levels.has(name)), lastTransitionTime })
    if (conditions === before) continue
    const { kind, apiVersion, metadata } = schema
    const condition = conditions.find(({ type }) => type === 'Dangling')
    const applied = {
      kind,
      apiVersion,
      metadata: { name: metadata.name },
      status: { conditions: [condition] },
    }
    try {
      await applyStatus(registry, flowSchemas, { manager, applied })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

const manager = 'api-priority-and-fairness-config-consumer-v1'

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
