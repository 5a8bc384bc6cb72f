/** Changes of an etcd cluster that may have to wait, such as for a member that is still starting. */
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { isEtcdMembersError, type EtcdMembersReason } from '#/store/etcd-members-error.ts'
import type { EtcdMembers } from '#/store/etcd-members.ts'
import type { Platform } from '#/platform/platform.ts'

export interface EtcdOperation {
  readonly platform: Pick<Platform, 'clock' | 'random'>
  readonly members: EtcdMembers
  /** Called with one line for each attempt that did not succeed yet. */
  readonly onProgress: (line: string) => void
  /** Total time; two minutes, as kubeadm's `timeouts.etcdAPICall`, when absent. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface EtcdAttempts<T> {
  /** Completes `cannot ...` and `waiting to ...`. */
  readonly what: string
  /** The failures that pass with time. */
  readonly passing: readonly EtcdMembersReason[]
  readonly attempt: () => Promise<T>
  /** Added to the error when the time is over, such as the path of a log. */
  readonly hint?: string | undefined
}

/** Attempts until one succeeds, with growing pauses. Rejects with an Error that has the last reason. */
export async function repeatUntilDone<T>(operation: EtcdOperation, attempts: EtcdAttempts<T>): Promise<T> {
  const { platform, onProgress, timeoutMs = defaultTimeoutMs, signal } = operation
  const { what, passing, attempt, hint } = attempts
  const { clock, random } = platform
  const deadlineMs = clock.monotonicMs() + timeoutMs
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      if (!isEtcdMembersError(error)) throw error
      const suffix = hint === undefined ? '' : `; ${hint}`
      const isPassing = passing.includes(error.reason)
      if (!isPassing) throw new Error(`cannot ${what}: ${error.message}${suffix}`, { cause: error })
      const pauseMs = backoffMs(failures, pauses, random.fraction('etcd operation pause'))
      if (clock.monotonicMs() + pauseMs > deadlineMs) {
        const message = `cannot ${what} within ${timeoutMs / 1_000} s: ${error.message}${suffix}`
        throw new Error(message, { cause: error })
      }
      onProgress(`waiting to ${what}: ${error.message}`)
      await clock.sleep(pauseMs, signal)
    }
  }
}

const defaultTimeoutMs = 120_000

const pauses: Backoff = { initialMs: 250, maxMs: 8_000, factor: 2, jitter: 0.2 }
