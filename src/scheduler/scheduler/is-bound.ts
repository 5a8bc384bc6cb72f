import { isApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Clock } from '#/platform/platform.ts'
import type { BindWork } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'

/** While nobody answers, the pod counts as bound; so often it is asked. */
const againMs = 1_000

/**
 * Whether a pod is on the node although binding it seems to have failed: the answer may have been lost. Who took that
 * for a failure would give its room to another one. Throws when the pod is gone, or the signal's reason.
 */
export async function isBound(
  { pod, namespace, uid }: PodInfo,
  node: string,
  { client, signal, clock }: BindWork & { readonly clock: Clock },
): Promise<boolean> {
  for (;;) {
    try {
      const now = await client.get(pods, { namespace, name: pod.metadata?.name ?? '' }, { signal })
      return now.metadata?.uid === uid && now.spec?.nodeName === node
    } catch (error) {
      if (isApiError(error, 'NotFound') || isApiError(error, 'Forbidden') || signal.aborted) throw error
    }
    await clock.sleep(againMs, signal)
  }
}
