import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { changeCauseOf, recordFlag, withChangeCause } from '../change-cause.ts'
import { defineCommand } from '../command.ts'
import { editFile } from '../edit/edit-file.ts'
import { editedText, editFormatOf } from '../edit/edited-text.ts'
import { saveEditedObjects, subjectOf } from '../edit/edit-objects.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { requireResources } from '../resource/find-resources.ts'
import { withLastApplied } from '../resource/last-applied.ts'
import { fieldManagerFlag, fieldValidationOf, filenameFlags, filesOf, validateFlag } from '../write-flags.ts'

export const command = defineCommand({
  usage: 'edit (RESOURCE/NAME | -f FILENAME)',
  description: `Edits objects of the server in an editor: that of the environment variable KUBE_EDITOR or
EDITOR, or else vi. Several objects are edited as a list. The changes are saved one object after the other;
what the server rejects as invalid is opened again, with the reasons as comments.

The default format is YAML; -o json edits JSON. If another user changes the object meanwhile, only the
edited fields are overwritten, unless the resourceVersion was edited.`,
  examples: `  # Edit a service
  kubectl edit svc/web

  # With another editor
  KUBE_EDITOR=nano kubectl edit svc/web

  # As JSON, in a given version of the API
  kubectl edit job.v1.batch/backup -o json

  # Also store the configuration for "kubectl apply"
  kubectl edit deployment/web --save-config

  # Edit the status
  kubectl edit deployment/web --subresource=status`,
  flags: {
    ...printFlags,
    ...filenameFlags('Files, folders or URLs that name the objects.'),
    'field-manager': fieldManagerFlag('kubectl-edit'),
    'output-patch': boolFlag('Print the patch that is sent.'),
    'record': recordFlag,
    'save-config': boolFlag('Store the configuration in the annotation of "kubectl apply".'),
    'subresource': stringFlag('Edit a subresource of the objects: status, scale, resize.'),
    'validate': validateFlag,
    'windows-line-endings': boolFlag('Use the line ends of Windows.'),
  },
  async run(invocation) {
    const { args, flags, factory } = invocation
    const fieldValidation = fieldValidationOf(flags.validate)
    const originals = await requireResources(factory, {
      ...filesOf(flags),
      args,
      allowEmptySelector: true,
      subresource: flags.subresource,
      latest: true,
    })
    const [first] = originals
    if (first === undefined) throw new Error('edit cancelled, no objects found')
    const format = editFormatOf(flags)
    await editFile(factory, {
      text: await editedText(
        originals.map(({ object = {} }) => object),
        { format, machine: factory.machine },
      ),
      format,
      windowsLineEndings: flags['windows-line-endings'],
      validatesType: fieldValidation !== 'Ignore',
      subject: subjectOf(first),
      save: (edited, path) =>
        saveEditedObjects(edited, path, {
          factory,
          originals,
          write: { fieldManager: flags['field-manager'] ?? 'kubectl-edit', fieldValidation },
          subresource: flags.subresource,
          printsPatch: flags['output-patch'] ?? false,
          annotated: object => annotated(object, flags['save-config'] ?? false, changeCauseOf(invocation)),
          async print(object, operation) {
            const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun: 'none' })
            print(object, operation)
          },
        }),
    })
  },
})

function annotated(object: JsonObject, saves: boolean, cause: string | undefined): JsonObject {
  return withChangeCause(saves && isObject(object['metadata']) ? withLastApplied(object) : object, cause)
}
