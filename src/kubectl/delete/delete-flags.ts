import type { FlagValues } from '#/base/flags.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flag-types.ts'
import { booleanOf } from '../write-flags.ts'

/** How commands delete objects: `delete`, `replace --force`, `apply --prune`. */
export const deletionFlags = {
  'cascade': stringFlag('What happens to dependents: background, foreground or orphan.', {
    shownDefault: `'background'`,
    bareValue: 'background',
  }),
  'force': boolFlag('Remove the objects at once, without waiting for their termination. This may lose data.'),
  'grace-period': intFlag('Seconds to terminate; ignored if negative. 0 needs --force.', {
    shownDefault: '-1',
  }),
  'timeout': durationFlag('Time to wait for the deletion; 0 waits as long as it takes.'),
}

type DeletionFlagValues = FlagValues<typeof deletionFlags>

export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan'

const policies: Readonly<Record<string, PropagationPolicy>> = {
  background: 'Background',
  foreground: 'Foreground',
  orphan: 'Orphan',
}

/** Warns of deprecated values. Throws Error for an unknown one. */
export function propagationPolicyOf(cascade = 'background', { stderr }: IOStreams): PropagationPolicy {
  const isTrue = booleanOf(cascade)
  if (isTrue !== undefined) {
    const meant = isTrue ? 'background' : 'orphan'
    stderr.write(
      `warning: --cascade=${cascade} is deprecated (boolean value) and can be replaced with --cascade=${meant}.\n`,
    )
    return policies[meant]!
  }
  if (Object.hasOwn(policies, cascade)) return policies[cascade]!
  throw new Error(`invalid cascade value (${cascade}). Must be "background", "foreground", or "orphan"`)
}

/** Seconds, or undefined for the default of the object. Throws Error for flags that contradict each other. */
export function gracePeriodOf(flags: DeletionFlagValues & { readonly now?: boolean }): number | undefined {
  const { 'grace-period': given = -1, force, now } = flags
  if (now && given !== -1) throw new Error('--now and --grace-period cannot be specified together')
  const seconds = now ? 1 : given
  if (force && seconds > 0)
    throw new Error('--force and --grace-period greater than 0 cannot be specified together')
  if (force) return 0
  if (seconds === 0) return 1
  return seconds < 0 ? undefined : seconds
}

export interface DeletionPlan {
  readonly gracePeriodSeconds?: number | undefined
  readonly propagationPolicy: PropagationPolicy
  /** Server-side dry run. */
  readonly dryRun?: boolean
}

export function deleteOptionsOf({ gracePeriodSeconds, propagationPolicy, dryRun }: DeletionPlan): JsonObject {
  return {
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    propagationPolicy,
    ...(dryRun && { dryRun: ['All'] }),
  }
}
