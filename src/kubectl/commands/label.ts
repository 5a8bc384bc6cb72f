import { changeCauseOf, withChangeCause } from '../change-cause.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { splitKeyValueArguments, type KeyValueChanges } from '../key-value-arguments.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { findResources, throwAny, visitInfos } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import { dryRunOf, type DryRun } from '../write-flags.ts'
import {
  labelOperation,
  metadataMap,
  overwrittenKeys,
  parseLabelChanges,
  withMetadataChanges,
} from '../metadata/metadata-changes.ts'
import { listMetadata, metadataFlags, metadataQuery } from '../metadata/metadata-flags.ts'
import { sendMetadata } from '../metadata/send-metadata.ts'

const labelFlags = metadataFlags({ command: 'label', things: 'labels' })

type LabelInvocation = Invocation<typeof labelFlags>

export const command = defineCommand({
  usage:
    'label [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]',
  description: `Updates the labels of objects.

A label has a key and a value. Key and value begin with a letter or number and may have letters, numbers,
hyphens, dots and underscores, up to 63 characters each. A key may begin with a DNS subdomain as prefix:
example.com/app. A label that exists is only overwritten with --overwrite. KEY- removes a label.`,
  examples: `  # Add a label to a pod
  kubectl label pods web-0 tier=frontend

  # Overwrite a label
  kubectl label --overwrite pods web-0 tier=backend

  # Label all pods of the namespace
  kubectl label pods --all tier=frontend

  # Label the object that a file names
  kubectl label -f pod.json tier=frontend

  # Remove a label
  kubectl label pods web-0 tier-`,
  flags: labelFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const { resources, pairs } = splitKeyValueArguments(args, 'label')
    const changes = parseLabelChanges(pairs)
    if (flags.list && flags.output) throw new Error('--list and --output may not be specified together')
    const query = metadataQuery({ flags, resources, dryRun, exampleFiles: ['pod.yaml', 'pod.json'] })
    if (pairs.length === 0 && !flags.list) throw new Error('at least one label update is required')
    const { infos, errors, isSingleItem } = await findResources(factory, query)
    if (flags['resource-version'] && !isSingleItem) {
      throw new Error('--resource-version may only be used with a single resource')
    }
    const failures = await visitInfos(infos, info =>
      label(invocation, { info, changes, dryRun, isSingleItem }),
    )
    throwAny([...errors, ...failures])
  },
})

interface Labeling {
  readonly info: Info
  readonly changes: KeyValueChanges
  readonly dryRun: DryRun
  readonly isSingleItem: boolean
}

async function label(
  invocation: LabelInvocation,
  { info, changes, dryRun, isSingleItem }: Labeling,
): Promise<void> {
  const { flags, factory, streams } = invocation
  const current = info.object ?? {}
  const labels = metadataMap(current, 'labels')
  const isSent = dryRun !== 'client' && !flags.local && !flags.list
  if (isSent) {
    const absent = changes.removed.filter(key => !Object.hasOwn(labels, key))
    for (const key of absent) streams.write(`label ${JSON.stringify(key)} not found.\n`)
  }
  if (!flags.overwrite) requireNoOverwrites(labels, changes)
  const operation = labelOperation(labels, changes)
  let object = withMetadataChanges(current, { field: 'labels', changes })
  if (isSent) {
    object = withChangeCause(object, changeCauseOf(invocation))
    if (operation !== 'not labeled')
      await sendMetadata(factory, { info, object, dryRun, flags, fieldManager: 'kubectl-label' })
  }
  if (flags.list) {
    listMetadata({ info, object, field: 'labels', isSingleItem }, streams)
    return
  }
  const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
  print(object, operation)
}

function requireNoOverwrites(labels: Readonly<Record<string, string>>, changes: KeyValueChanges): void {
  throwAny(
    overwrittenKeys(labels, changes).map(
      key => new Error(`'${key}' already has a value (${labels[key]}), and --overwrite is false`),
    ),
  )
}
