import type { JsonObject } from '#/api/text/json-object.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import { recordFlag } from '../change-cause.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import type { ResourceQuery } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import {
  dryRunFlag,
  fieldManagerFlag,
  filenameFlags,
  filesOf,
  hasFiles,
  selectorFlag,
  type DryRun,
} from '../write-flags.ts'
import { metadataMap } from './metadata-changes.ts'

/** The flags of `kubectl label` and `kubectl annotate`. */
export function metadataFlags({ command, things }: { readonly command: string; readonly things: string }) {
  return {
    ...printFlags,
    ...filenameFlags('Files, folders or URLs that name the objects.'),
    'all': boolFlag('Select all objects of the given types in the namespace.'),
    'all-namespaces': boolFlag('Select the objects of all namespaces.', { shorthand: 'A' }),
    'dry-run': dryRunFlag,
    'field-manager': fieldManagerFlag(`kubectl-${command}`),
    'field-selector': stringFlag('Selector of fields, with =, == and !=: metadata.name=web-0.'),
    'list': boolFlag(`Show the ${things} of the objects.`),
    'local': boolFlag('Change the objects of the files instead of those at the server.'),
    'overwrite': boolFlag(`Overwrite ${things} that have another value, instead of reporting an error.`),
    'record': recordFlag,
    'resource-version': stringFlag(
      'Fail if the object has another resourceVersion. Only for a single object.',
    ),
    'selector': selectorFlag,
  }
}

export type MetadataFlagValues = FlagValues<ReturnType<typeof metadataFlags>>

export interface MetadataQueryOptions {
  readonly flags: MetadataFlagValues
  readonly resources: readonly string[]
  readonly dryRun: DryRun
  /** In the error for missing files: `pod.yaml`, `pod.json`. */
  readonly exampleFiles: readonly [yaml: string, json: string]
}

/** The objects that the flags and arguments select. Throws Error for flags that contradict each other. */
export function metadataQuery({
  flags,
  resources,
  dryRun,
  exampleFiles,
}: MetadataQueryOptions): ResourceQuery {
  if (flags.all && flags.selector) throw new Error('cannot set --all and --selector at the same time')
  if (flags.all && flags['field-selector'])
    throw new Error('cannot set --all and --field-selector at the same time')
  if (flags.local) {
    if (dryRun === 'server') {
      throw new Error('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
    }
    const files = `-f ${exampleFiles[0]} or --filename=${exampleFiles[1]}`
    if (resources.length > 0) throw new Error(`can only use local files by ${files} when --local=true is set`)
    if (!hasFiles(flags)) throw new Error(`one or more files must be specified as ${files}`)
    return { ...filesOf(flags), local: true }
  }
  if (resources.length === 0 && !hasFiles(flags)) {
    throw new Error('one or more resources must be specified as <resource> <name> or <resource>/<name>')
  }
  return {
    ...filesOf(flags),
    args: resources,
    labelSelector: flags.selector,
    fieldSelector: flags['field-selector'],
    allowEmptySelector: flags.all,
    allNamespaces: flags['all-namespaces'],
    latest: true,
  }
}

export interface ListedMetadata {
  readonly info: Info
  readonly object: JsonObject
  readonly field: 'labels' | 'annotations'
  readonly isSingleItem: boolean
}

/** Prints the labels or annotations of an object. */
export function listMetadata(
  { info, object, field, isSingleItem }: ListedMetadata,
  streams: IOStreams,
): void {
  const { kind, group } = info.mapping
  if (!isSingleItem) streams.write(`Listing ${field} for ${kind}.${group}/${info.name}:\n`)
  for (const [key, value] of Object.entries(metadataMap(object, field))) {
    streams.write(`${isSingleItem ? '' : ' '}${key}=${value}\n`)
  }
}
