import { recordFlag } from '../change-cause.ts'
import type { Invocation } from '../command.ts'
import { deletionFlags } from '../delete/delete-flags.ts'
import { boolFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import {
  dryRunFlag,
  fieldManagerFlag,
  filenameFlags,
  selectorFlag,
  validateFlag,
  type DryRun,
} from '../write-flags.ts'

/** The default field managers. That of server-side apply has its name for historical reasons. */
export const clientSideManager = 'kubectl-client-side-apply'
export const serverSideManager = 'kubectl'

/** The flags that `apply` and `diff` have in common. */
export const applyModeFlags = {
  'field-manager': fieldManagerFlag(clientSideManager),
  'force-conflicts': boolFlag('With --server-side, take over the fields of other managers.'),
  'prune-allowlist': stringSliceFlag(
    'Kinds that --prune considers, as group/version/kind, instead of the default.',
  ),
  'selector': selectorFlag,
  'server-side': boolFlag('Let the server merge the objects.'),
}

export const applyFlags = {
  ...printFlags,
  ...deletionFlags,
  ...filenameFlags('Files, folders or URLs with the objects to apply.'),
  ...applyModeFlags,
  'all': boolFlag('With --prune, consider all objects of the namespaces.'),
  'applyset': stringFlag(
    'With --prune, the object that tracks the applied objects: [RESOURCE][.GROUP]/NAME, a Secret by default.',
    { hidden: true },
  ),
  'dry-run': dryRunFlag,
  'openapi-patch': boolFlag('Has no effect: patches are made with the schemas of this program.', {
    shownDefault: 'true',
  }),
  'overwrite': boolFlag('Overwrite fields that were changed since they were applied last.', {
    shownDefault: 'true',
  }),
  'prune': boolFlag('Delete objects that were applied before and are not in the files. Needs --all or -l.'),
  'record': recordFlag,
  'subresource': stringFlag('With --server-side, apply to a subresource of the objects: status, scale.'),
  'validate': validateFlag,
  'wait': boolFlag('Wait until deleted objects are gone.'),
}

export type ApplyInvocation = Invocation<typeof applyFlags>

/** Throws Error for flags that contradict each other. */
export function validateApplyFlags(flags: ApplyInvocation['flags'], dryRun: DryRun): void {
  const problem = problemOf(flags, dryRun)
  if (problem !== undefined) throw new Error(problem)
}

function problemOf(flags: ApplyInvocation['flags'], dryRun: DryRun): string | undefined {
  const { all, applyset, force, prune, selector } = flags
  const isServerSide = flags['server-side'] ?? false
  if (flags['force-conflicts'] && !isServerSide) return '--force-conflicts only works with --server-side'
  if (dryRun === 'client' && isServerSide) {
    return "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)"
  }
  if (isServerSide && force) return '--force cannot be used with --server-side'
  if (dryRun === 'server' && force) return '--dry-run=server cannot be used with --force'
  if (all && selector) return 'cannot set --all and --selector at the same time'
  if (applyset && !prune) return '--applyset requires --prune'
  if (prune && force) return '--force cannot be used with --prune'
  if (prune && applyset) {
    if (all) return '--all is incompatible with --applyset'
    if (selector) return '--selector is incompatible with --applyset'
    if ((flags['prune-allowlist'] ?? []).length > 0)
      return '--prune-allowlist is incompatible with --applyset'
  } else if (prune) {
    if (!all && !selector) {
      return (
        'all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all ' +
        'flag. If you did not mean to prune all resources, specify a label selector'
      )
    }
    if (isServerSide) {
      return "--prune is in alpha and doesn't currently work on objects created by server-side apply"
    }
  }
  return flags.subresource && !isServerSide
    ? '--subresource can only be specified for --server-side'
    : undefined
}
