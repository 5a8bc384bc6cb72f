/**
 * Flags of commands that change objects: dry run, field manager, validation, files, recording of the command.
 */
import { quote } from '#/api/text/quote.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { WriteOptions } from '#/client/client.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import { boolFlag, stringFlag, stringSliceFlag, type KubectlFlag } from './flag-types.ts'
import type { ResourceQuery } from './resource/find-resources.ts'

/** `client`: nothing is sent. `server`: the server processes the requests, but stores nothing. */
export type DryRun = 'none' | 'client' | 'server'

/** What `--dry-run` without a value means. */
const unchanged = 'unchanged'

export const dryRunFlag: KubectlFlag<string> = stringFlag(
  'Must be "none", "server" or "client". With client, print the object without sending it. With server, send the ' +
    'request, but let the server store nothing.',
  { shownDefault: `'none'`, bareValue: unchanged },
)

/** Warns of deprecated values. Throws Error for a value that is none. */
export function dryRunOf(value: string | undefined, { stderr }: IOStreams): DryRun {
  if (value === undefined || value === 'none') return 'none'
  if (value === 'client' || value === 'server') return value
  if (value === unchanged) {
    stderr.write('Warning: --dry-run is deprecated and can be replaced with --dry-run=client.\n')
    return 'client'
  }
  const isTrue = booleanOf(value)
  if (isTrue === undefined) {
    throw new Error(`Invalid dry-run value (${value}). Must be "none", "server", or "client".`)
  }
  const meant = isTrue ? 'client' : 'none'
  const replacement = `(boolean value) and can be replaced with --dry-run=${meant}`
  stderr.write(`Warning: --dry-run=${value} is deprecated ${replacement}.\n`)
  return meant
}

/** Go's strconv.ParseBool; undefined for other texts. */
export function booleanOf(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text) ? false : undefined
}

/** `created (dry run)`. */
export function operationText(operation: string, dryRun: DryRun): string {
  if (dryRun === 'none') return operation
  return `${operation} (${dryRun === 'client' ? 'dry run' : 'server dry run'})`
}

export function fieldManagerFlag(defaultName: string): KubectlFlag<string> {
  return stringFlag('Name of the manager that owns the fields that are set.', {
    shownDefault: `'${defaultName}'`,
  })
}

export const validateFlag: KubectlFlag<string> = stringFlag(
  'Must be one of strict (or true), warn, ignore (or false). Unknown and duplicate fields are an error with strict, ' +
    'a warning with warn, and are dropped silently with ignore.',
  { shownDefault: `'strict'`, bareValue: 'strict' },
)

/** Throws Error for an unknown value. */
export function fieldValidationOf(value = 'strict'): NonNullable<WriteOptions['fieldValidation']> {
  if (value === 'warn') return 'Warn'
  const isStrict = value === 'strict' || (value === 'ignore' ? false : booleanOf(value))
  if (isStrict !== undefined) return isStrict ? 'Strict' : 'Ignore'
  const choices = 'strict (or true), warn, ignore (or false)'
  throw new Error(`invalid - validate option ${quote(value)}; must be one of: ${choices}`)
}

/** `--filename`, `--kustomize` and `--recursive`. `what` are the files: `Files, folders or URLs with ...`. */
export function filenameFlags(what: string) {
  return {
    filename: stringSliceFlag(what, { shorthand: 'f' }),
    kustomize: stringFlag('Folder of a kustomization. Cannot be used with -f or -R.', { shorthand: 'k' }),
    recursive: boolFlag('Include the folders below the folders given by --filename.', { shorthand: 'R' }),
  }
}

export type FilenameFlagValues = FlagValues<ReturnType<typeof filenameFlags>>

/**
 * The part of a query that the flags of `filenameFlags` define. Throws Error if they contradict each other.
 */
export function filesOf(
  flags: FilenameFlagValues,
): Pick<ResourceQuery, 'filenames' | 'kustomize' | 'recursive'> {
  const { filename = [], kustomize, recursive = false } = flags
  if (kustomize && filename.length > 0) throw new Error('only one of -f or -k can be specified')
  if (kustomize && recursive) throw new Error("the -k flag can't be used with -f or -R")
  return { filenames: filename, recursive, ...(kustomize && { kustomize }) }
}

export function hasFiles({ filename = [], kustomize }: FilenameFlagValues): boolean {
  return filename.length > 0 || Boolean(kustomize)
}

/** The selector and `--all` of commands that change many objects. */
export const selectorFlag = stringFlag(
  'Label selector: key=value, key!=value, key in (a,b), key notin (a), key, !key.',
  { shorthand: 'l' },
)
