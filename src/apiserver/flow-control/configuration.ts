/** Reads flow schemas and priority levels from the cache. */
import type { FlowSchema, PriorityLevelConfiguration } from '#/api/generated/flowcontrol/v1.ts'
import { flowSchemas, priorityLevelConfigurations } from '#/api/generated/flowcontrol/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Registry } from '../registry/registry.ts'
import { prefixOf } from '../registry/store-keys.ts'
import type { LevelConfiguration } from './priority-level.ts'

export const schemasPrefix = prefixOf(flowSchemas, '')
export const levelsPrefix = prefixOf(priorityLevelConfigurations, '')

export function readSchemas({ cache }: Pick<Registry, 'cache'>): readonly Stored<FlowSchema>[] {
  return Array.from(cache.list(schemasPrefix), stored => stored.object as Stored<FlowSchema>)
}

export function readLevels({
  cache,
}: Pick<Registry, 'cache'>): readonly Stored<PriorityLevelConfiguration>[] {
  return Array.from(cache.list(levelsPrefix), stored => stored.object as Stored<PriorityLevelConfiguration>)
}

export function levelConfigurationOf({ spec }: PriorityLevelConfiguration): LevelConfiguration {
  if (spec?.type === 'Exempt') {
    const { nominalConcurrencyShares: nominalShares = 0, lendablePercent = 0 } = spec.exempt ?? {}
    return { isExempt: true, nominalShares, lendablePercent, borrowingPercent: undefined, queuing: undefined }
  }
  const { limited = {} } = spec ?? {}
  const { nominalConcurrencyShares: nominalShares = 30, lendablePercent = 0, limitResponse } = limited
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = limitResponse?.queuing ?? {}
  return {
    isExempt: false,
    nominalShares,
    lendablePercent,
    borrowingPercent: limited.borrowingLimitPercent,
    queuing:
      limitResponse?.type === 'Queue' ? { queues, handSize, queueLengthMax: queueLengthLimit } : undefined,
  }
}

const plain = { lendablePercent: 0, borrowingPercent: undefined, queuing: undefined }

/** The mandatory priority levels, which exist even if their objects were deleted. */
export const mandatoryLevels: ReadonlyMap<string, LevelConfiguration> = new Map([
  ['exempt', { ...plain, isExempt: true, nominalShares: 0 }],
  ['catch-all', { ...plain, isExempt: false, nominalShares: 5 }],
])
