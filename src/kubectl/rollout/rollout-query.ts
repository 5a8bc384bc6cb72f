import type { ResourceQuery } from '../resource/find-resources.ts'
import { filenameFlags, filesOf, hasFiles, selectorFlag, type FilenameFlagValues } from '../write-flags.ts'

export const rolloutFlags = {
  ...filenameFlags('Files, folders or URLs that name the workloads.'),
  selector: selectorFlag,
}

interface RolloutArguments {
  readonly args: readonly string[]
  readonly flags: FilenameFlagValues & { readonly selector?: string }
}

/** The workloads that the arguments of a subcommand of `rollout` name. Throws Error without arguments. */
export function rolloutQueryOf({ args, flags }: RolloutArguments): ResourceQuery {
  if (args.length === 0 && !hasFiles(flags)) throw new Error('required resource not specified')
  const hasNames = args.length > 1 || args.some(each => each.includes('/'))
  return {
    ...filesOf(flags),
    args,
    labelSelector: flags.selector,
    all: !flags.selector && args.length > 0 && !hasNames,
    latest: true,
  }
}
