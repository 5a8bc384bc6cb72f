/** Validates the settings of a kubelet that depend on one another, or are texts with a syntax of their own. */
import { messageOf } from '#/base/message-of.ts'
import { tryParseQuantity } from '#/api/text/quantity.ts'
import { evictionThresholds } from './eviction/thresholds.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'

/** Returns the first fault; undefined if the kubelet accepts the settings. */
export function validateKubeletConfiguration(node: KubeletConfiguration): string | undefined {
  const { systemReserved, containerLog } = node
  const { highPercent, lowPercent } = node.imageGc
  try {
    evictionThresholds(node)
  } catch (error) {
    return messageOf(error)
  }
  if (lowPercent >= highPercent)
    return `imageGCLowThresholdPercent ${lowPercent} must be less than imageGCHighThresholdPercent ${highPercent}`
  if (containerLog.maxBytes <= 0) return 'containerLogMaxSize must be positive'
  for (const [name, text] of Object.entries(systemReserved)) {
    if (!reservable.has(name)) return `${name} cannot be reserved for the system`
    if (tryParseQuantity(text) === undefined) return `reserved ${name} ${text} is not a quantity`
  }
  return undefined
}

const reservable: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pid'])
