/** Reads the scheduler's configuration files; errors name the flag that gave the file. */
import { dirname } from 'node:path'
import { UsageError } from '#/base/flags.ts'
import {
  readSchedulerConfiguration,
  readSchedulerPolicy,
  type ConfigurationContext,
  type SchedulerConfiguration,
} from '#/scheduler/configuration.ts'

/** KubeSchedulerConfiguration, or the legacy Policy format. */
export interface SchedulerFiles {
  readonly schedulerConfig?: string
  readonly policyConfigFile?: string
  /** Name of the flag of `schedulerConfig`, for errors; default `scheduler-config`. */
  readonly flag?: string
}

/** Undefined when no file is given. Throws UsageError; so does `profiles` of the result. */
export async function readScheduler(
  { schedulerConfig, policyConfigFile, flag: flagName = 'scheduler-config' }: SchedulerFiles,
  context: Omit<ConfigurationContext, 'folder'>,
): Promise<SchedulerConfiguration | undefined> {
  const path = schedulerConfig ?? policyConfigFile
  if (path === undefined) return undefined
  const isPolicy = schedulerConfig === undefined
  const complaint = (cause: unknown): UsageError => {
    const flag = isPolicy ? '--policy-config-file' : `--${flagName}`
    return new UsageError(`${flag} ${path}: ${whyNot(cause)}`, { cause })
  }
  try {
    const text = Buffer.from(await context.platform.files.read(path)).toString()
    const read = isPolicy ? readSchedulerPolicy : readSchedulerConfiguration
    const configuration = await read(text, { ...context, folder: dirname(path) })
    return { ...configuration, profiles: parts => orComplain(() => configuration.profiles(parts), complaint) }
  } catch (cause) {
    throw complaint(cause)
  }
}

function orComplain<T>(make: () => T, complaint: (cause: unknown) => Error): T {
  try {
    return make()
  } catch (cause) {
    throw complaint(cause)
  }
}

function whyNot(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  if ('code' in cause && cause.code === 'ENOENT') return 'there is no such file'
  return cause.message.trim().replaceAll(/\s*\n\s*/g, '; ')
}
