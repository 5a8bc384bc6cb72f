import { boolFlag, stringFlag } from '../flag-types.ts'
import { recordFlag } from '../change-cause.ts'
import { filenameFlags, selectorFlag } from '../write-flags.ts'
import { createFlags } from './object-creator.ts'

/** The flags of `kubectl create -f`. */
export const createFileFlags = {
  ...createFlags,
  ...filenameFlags('Files, folders or URLs with the objects.'),
  'edit': boolFlag('Edit the objects before they are created.'),
  'raw': stringFlag('Path of the server to which the file is sent as it is, with POST.'),
  'record': recordFlag,
  'selector': selectorFlag,
  'windows-line-endings': boolFlag('With --edit, use the line ends of Windows.'),
}
