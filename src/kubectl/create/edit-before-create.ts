import { editFile } from '../edit/edit-file.ts'
import { objectPrinterOf, splitOutput } from '../printers/object-printer.ts'
import type { ResultPrinter } from '../printers/result-printer.ts'
import { visitResources, type ResourceQuery } from '../resource/find-resources.ts'
import { locationOf } from '../resource/info.ts'
import { withLastApplied } from '../resource/last-applied.ts'
import type { CreateInvocation } from './create-from-files.ts'

export interface EditBeforeCreateOptions {
  readonly query: ResourceQuery & { readonly validatesType: boolean }
  readonly print: ResultPrinter
  readonly fieldValidation: string
}

/** `kubectl create -f --edit`: each object is edited by itself and then created. */
export async function editBeforeCreate(
  { flags, factory }: CreateInvocation,
  { query, print, fieldValidation }: EditBeforeCreateOptions,
): Promise<void> {
  const { machine } = factory
  const format = splitOutput(flags).format === 'json' ? 'json' : 'yaml'
  const resources = await factory.resources()
  await visitResources(factory, query, async ({ mapping, name, object = {} }) => {
    const toText = await objectPrinterOf({ flags: { output: format }, machine })
    const { plural, group } = mapping
    await editFile(factory, {
      text: String(toText?.(object) ?? ''),
      format,
      windowsLineEndings: flags['windows-line-endings'],
      validatesType: query.validatesType,
      subject: `${group === '' ? plural : `${plural}.${group}`} ${JSON.stringify(name)}`,
      async save(edited) {
        for (const info of edited) {
          const configured = flags['save-config'] ? withLastApplied(info.object ?? {}) : (info.object ?? {})
          const options = { fieldManager: 'kubectl-create', fieldValidation }
          print(await resources.create(locationOf(info), configured, options), 'created')
        }
        return []
      },
    })
  })
}
