import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { parseJson } from '#/api/text/json.ts'
import { clientSideManager } from '../../apply/apply-flags.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { editFile } from '../../edit/edit-file.ts'
import { editedText, editFormatOf } from '../../edit/edited-text.ts'
import { subjectOf } from '../../edit/edit-objects.ts'
import { boolFlag } from '../../flag-types.ts'
import { printFlags, sorted, toCompactJson } from '../../printers/object-printer.ts'
import { resultPrinterOf } from '../../printers/result-printer.ts'
import { requireResources } from '../../resource/find-resources.ts'
import { kindText, locationOf, metadataText, type Info } from '../../resource/info.ts'
import { lastAppliedAnnotation, lastAppliedOf } from '../../resource/last-applied.ts'
import {
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  filesOf,
  validateFlag,
} from '../../write-flags.ts'

const editFlags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs that name the objects.'),
  'field-manager': fieldManagerFlag(clientSideManager),
  'validate': validateFlag,
  'windows-line-endings': boolFlag('Use the line ends of Windows.'),
}

export const command = defineCommand({
  usage: 'edit-last-applied (RESOURCE/NAME | -f FILENAME)',
  description: `Edits the configuration that was applied last, which "kubectl apply" stores in an
annotation. Nothing else of the object changes. The editor is that of the environment variable KUBE_EDITOR
or EDITOR, or else vi.`,
  examples: `  # The configuration of a deployment
  kubectl apply edit-last-applied deployment/web

  # As JSON, for the object that a file names
  kubectl apply edit-last-applied -f deploy.yaml -o json`,
  flags: editFlags,
  async run(invocation) {
    const { args, flags, factory } = invocation
    const fieldValidation = fieldValidationOf(flags.validate)
    const infos = await requireResources(factory, {
      ...filesOf(flags),
      args,
      allowEmptySelector: true,
      latest: true,
    })
    const configurations = infos.flatMap(({ object = {} }) => {
      const text = lastAppliedOf(object)
      const value = text === '' ? undefined : parseJson(text)
      return isObject(value) ? [value] : []
    })
    const [first] = infos
    if (first === undefined || configurations.length === 0) {
      throw new Error(
        'no last-applied-configuration annotation found on resources, to create the annotation, use ' +
          'command `kubectl apply set-last-applied --create-annotation`',
      )
    }
    const format = editFormatOf(flags)
    await editFile(factory, {
      text: await editedText(configurations, { format, machine: factory.machine }),
      format,
      header,
      windowsLineEndings: flags['windows-line-endings'],
      validatesType: fieldValidation !== 'Ignore',
      subject: subjectOf(first),
      async save(edited) {
        for (const info of edited)
          await saveConfiguration(invocation, { info, configurations, fieldValidation })
        return []
      },
    })
  },
})

const header = `# Please edit the 'last-applied-configuration' annotations below.
# Lines beginning with a '#' will be ignored, and an empty file will abort the edit.
#
`

interface EditedConfiguration {
  readonly info: Info
  readonly configurations: readonly JsonObject[]
  readonly fieldValidation: string
}

async function saveConfiguration(
  { flags, factory }: Invocation<typeof editFlags>,
  { info, configurations, fieldValidation }: EditedConfiguration,
): Promise<void> {
  const edited = info.object ?? {}
  const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun: 'none' })
  const original = configurations.find(
    each =>
      kindText(each) === kindText(edited) && metadataText(each, 'name') === metadataText(edited, 'name'),
  )
  if (original === undefined) throw new Error(`no original object found for ${subjectOf(info)}`)
  if (equalJson(original, edited)) {
    print(edited, 'skipped')
    return
  }
  const annotations = { [lastAppliedAnnotation]: `${toCompactJson(sorted(edited))}\n` }
  const resources = await factory.resources()
  const write = { fieldManager: flags['field-manager'] ?? clientSideManager, fieldValidation }
  const body = JSON.stringify({ metadata: { annotations } })
  await resources.patch(locationOf(info), { type: 'merge', body }, write)
  print(edited, 'edited')
}
