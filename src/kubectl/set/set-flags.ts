import { recordFlag } from '../change-cause.ts'
import { boolFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { dryRunFlag, fieldManagerFlag, filenameFlags } from '../write-flags.ts'

/** The flags that all subcommands of `kubectl set` have. */
export const setFlags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs that name the objects.'),
  'all': boolFlag('Select all objects of the given types in the namespace.'),
  'dry-run': dryRunFlag,
  'field-manager': fieldManagerFlag('kubectl-set'),
  'local': boolFlag('Change the objects of the files instead of those at the server.'),
}

/** Of the subcommands that can record themselves in an annotation. */
export const recordedSetFlags = { ...setFlags, record: recordFlag }
