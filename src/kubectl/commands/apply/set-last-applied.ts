import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { defineCommand } from '../../command.ts'
import { boolFlag, stringSliceFlag } from '../../flag-types.ts'
import { printFlags, sorted, toCompactJson } from '../../printers/object-printer.ts'
import { resultPrinterOf } from '../../printers/result-printer.ts'
import { requireResources } from '../../resource/find-resources.ts'
import { locationOf, type Info } from '../../resource/info.ts'
import { lastAppliedAnnotation, lastAppliedOf } from '../../resource/last-applied.ts'
import { dryRunFlag, dryRunOf } from '../../write-flags.ts'

export const command = defineCommand({
  usage: 'set-last-applied -f FILENAME',
  description: `Stores the content of a file as the configuration that was applied last, as if it had been
applied with "kubectl apply". Nothing else of the object changes.`,
  examples: `  # Store the configuration of a file
  kubectl apply set-last-applied -f deploy.yaml

  # The same for all files in a folder
  kubectl apply set-last-applied -f path/

  # Also for objects that were never applied
  kubectl apply set-last-applied -f deploy.yaml --create-annotation=true`,
  flags: {
    ...printFlags,
    'create-annotation': boolFlag('Also change objects without a configuration that was applied.'),
    'dry-run': dryRunFlag,
    'filename': stringSliceFlag('Files, folders or URLs with the configurations.', { shorthand: 'f' }),
  },
  async run({ flags, factory, streams }) {
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
    const infos = await requireResources(factory, { filenames: flags.filename ?? [] })
    const resources = await factory.resources()
    const changes: { readonly info: Info; readonly live: JsonObject; readonly text: string }[] = []
    for (const info of infos) {
      const live = await resources.get(locationOf(info)).catch((error: unknown) => {
        if (isApiError(error, 'NotFound')) throw error
        throw new Error(`cannot read ${info.name}`, { cause: error })
      })
      const stored = lastAppliedOf(live)
      if (stored === '' && !flags['create-annotation']) {
        throw new Error(
          `no last-applied-configuration annotation found on resource: ${info.name}, to create the ` +
            'annotation, run the command with --create-annotation',
        )
      }
      const text = `${toCompactJson(sorted(info.object ?? {}))}\n`
      if (stored.trimEnd() === text.trimEnd()) {
        streams.write(`set-last-applied ${info.name}: no changes required.\n`)
      } else changes.push({ info, live, text })
    }
    for (const { info, live, text } of changes) {
      const body = JSON.stringify({ metadata: { annotations: { [lastAppliedAnnotation]: text } } })
      const object =
        dryRun === 'client'
          ? live
          : await resources.patch(locationOf(info), { type: 'merge', body }, { dryRun: dryRun === 'server' })
      print(object, 'configured')
    }
  },
})
