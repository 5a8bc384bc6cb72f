import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { keyOf, parseKey } from '#/api/metadata.ts'
import { formatTime } from '#/api/time.ts'
import type { Client } from '#/client/client.ts'

export interface FailureReport {
  readonly client: Client
  readonly signal: AbortSignal
  readonly reason: string
  readonly message: string
  /** The nominated node; empty to clear it, undefined to leave it unchanged. */
  readonly nominated: string | undefined
  readonly nowMs: number
}

/** Writes the PodScheduled condition and the nominated node. Does nothing if they are unchanged. */
export async function reportFailure(pod: Pod, report: FailureReport): Promise<void> {
  const { client, signal, reason, message, nominated, nowMs } = report
  const said = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  const isSaid = said?.status === 'False' && said.reason === reason && said.message === message
  const isNominationSaid = nominated === undefined || (pod.status?.nominatedNodeName ?? '') === nominated
  if (isSaid && isNominationSaid) return
  const lastTransitionTime = said?.status === 'False' ? said.lastTransitionTime : formatTime(nowMs)
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message,
    lastTransitionTime,
    ...(pod.metadata?.generation !== undefined && { observedGeneration: pod.metadata.generation }),
  }
  const status = {
    conditions: [condition],
    ...(!isNominationSaid && { nominatedNodeName: nominated || null }),
  }
  const at = { ...parseKey(keyOf(pod)), subresource: 'status' }
  try {
    await client.patch(pods, at, { type: 'strategic', patch: { status } }, { signal })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
