import type { JsonObject } from '#/api/text/json-object.ts'
import { changeCauseOf, withChangeCause } from '../change-cause.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { splitKeyValueArguments, type KeyValueChanges } from '../key-value-arguments.ts'
import { resultPrinterOf, type ResultPrinter } from '../printers/result-printer.ts'
import { findResources, throwAny, visitInfos } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import { dryRunOf, type DryRun } from '../write-flags.ts'
import {
  metadataMap,
  overwrittenKeys,
  parseAnnotationChanges,
  withMetadataChanges,
} from '../metadata/metadata-changes.ts'
import { listMetadata, metadataFlags, metadataQuery } from '../metadata/metadata-flags.ts'
import { sendMetadata } from '../metadata/send-metadata.ts'

const annotateFlags = metadataFlags({ command: 'annotate', things: 'annotations' })

type AnnotateInvocation = Invocation<typeof annotateFlags>

export const command = defineCommand({
  usage:
    'annotate [--overwrite] (-f FILENAME | TYPE NAME) KEY_1=VAL_1 ... KEY_N=VAL_N [--resource-version=version]',
  description: `Updates the annotations of objects.

Annotations are keys and values that tools and libraries store in an object. Unlike labels they may be large
and contain any text, such as JSON, and nothing selects objects by them. An annotation that exists is only
overwritten with --overwrite. KEY- removes an annotation.

Use "kubectl api-resources" for a complete list of supported resources.`,
  examples: `  # Describe a pod
  kubectl annotate pods web-0 description='my frontend'

  # Annotate the object that a file names
  kubectl annotate -f pod.json description='my frontend'

  # Overwrite an annotation
  kubectl annotate --overwrite pods web-0 description='my frontend with nginx'

  # Annotate all pods of the namespace
  kubectl annotate pods --all description='my frontend with nginx'

  # Only if the object has not changed since version 1
  kubectl annotate pods web-0 description='my frontend' --resource-version=1

  # Remove an annotation
  kubectl annotate pods web-0 description-`,
  flags: annotateFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
    const { resources, pairs } = splitKeyValueArguments(args, 'annotation')
    const changes = parseAnnotationChanges(pairs)
    const query = metadataQuery({ flags, resources, dryRun, exampleFiles: ['rsrc.yaml', 'rsrc.json'] })
    if (pairs.length === 0 && !flags.list) throw new Error('at least one annotation update is required')
    const { infos, errors, isSingleItem } = await findResources(factory, query)
    if (flags['resource-version'] && !isSingleItem) {
      throw new Error('--resource-version may only be used with a single resource')
    }
    const failures = await visitInfos(infos, info =>
      annotate(invocation, { info, changes, dryRun, isSingleItem, print }),
    )
    throwAny([...errors, ...failures])
  },
})

interface Annotating {
  readonly info: Info
  readonly changes: KeyValueChanges
  readonly dryRun: DryRun
  readonly isSingleItem: boolean
  readonly print: ResultPrinter
}

async function annotate(invocation: AnnotateInvocation, annotating: Annotating): Promise<void> {
  const { info, changes, dryRun, isSingleItem, print } = annotating
  const { flags, factory, streams } = invocation
  const current = info.object ?? {}
  const isSent = dryRun !== 'client' && !flags.local && !flags.list
  const recorded = isSent ? withChangeCause(current, changeCauseOf(invocation)) : current
  if (!flags.overwrite) requireNoOverwrites(recorded, changes)
  let object = withMetadataChanges(recorded, { field: 'annotations', changes })
  if (isSent)
    object = await sendMetadata(factory, { info, object, dryRun, flags, fieldManager: 'kubectl-annotate' })
  if (flags.list) listMetadata({ info, object, field: 'annotations', isSingleItem }, streams)
  else print(object, 'annotated')
}

function requireNoOverwrites(object: JsonObject, changes: KeyValueChanges): void {
  const annotations = metadataMap(object, 'annotations')
  const declared = overwrittenKeys(annotations, changes).map(
    key => `'${key}' already has a value (${annotations[key]})`,
  )
  if (declared.length === 0) return
  throw new Error(
    `--overwrite is false but found the following declared annotation(s): ${declared.join('; ')}`,
  )
}
