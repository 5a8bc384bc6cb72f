import { isApiError } from '#/api/errors.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Clock } from '#/platform/platform.ts'
import type { BindWork } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'

/** Retry interval while the API server does not answer; the pod counts as bound meanwhile. */
const againMs = 1_000

/**
 * True if a pod is bound to the node although the binding request failed: the response may have been lost.
 * Treating it as a failure would give its resources to another pod. Throws if the pod is gone, or with the
 * signal's reason.
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
