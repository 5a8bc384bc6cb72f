import { CommandUsageError } from '../errors.ts'
import { stringFlag, durationFlag, type KubectlFlag } from '../flag-types.ts'

export const containerFlag = stringFlag(
  'Container; by default that of the annotation kubectl.kubernetes.io/default-container, or the first one.',
  { shorthand: 'c' },
)

/** Commands that need a running pod wait for it. */
export function podRunningTimeoutFlag(shownDefault: string): KubectlFlag<number> {
  return durationFlag('How long (such as 5s, 2m or 3h, above zero) to wait until a pod is running.', {
    shownDefault,
  })
}

/** Throws CommandUsageError. */
export function podTimeoutMs(given: number | undefined): number {
  if (given !== undefined && given <= 0) throw new CommandUsageError(timeoutTooShort)
  return given ?? 60_000
}

export const timeoutTooShort = '--pod-running-timeout must be higher than zero'
