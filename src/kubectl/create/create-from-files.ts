import type { JsonObject } from '#/api/text/json-object.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { Invocation } from '../command.ts'
import { ContextError } from '../errors.ts'
import { splitOutput } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { visitResources } from '../resource/find-resources.ts'
import { locationOf } from '../resource/info.ts'
import { lastAppliedOf, withLastApplied } from '../resource/last-applied.ts'
import { dryRunOf, fieldValidationOf, filesOf, hasFiles } from '../write-flags.ts'
import type { createFileFlags } from './create-file-flags.ts'

export type CreateInvocation = Invocation<typeof createFileFlags>

/** `kubectl create -f`. */
export async function createFromFiles(invocation: CreateInvocation): Promise<void> {
  const { flags, factory, streams } = invocation
  const { machine } = factory
  const dryRun = dryRunOf(flags['dry-run'], streams)
  const fieldValidation = fieldValidationOf(flags.validate)
  const print = await resultPrinterOf({ flags, machine, dryRun })
  if (!hasFiles(flags)) throw new Error('must specify one of -f and -k')
  if (flags.raw) {
    validateRaw(flags)
    const { sendRaw } = await import('../resource/send-raw.ts')
    return sendRaw(factory, { method: 'POST', path: flags.raw, filename: flags.filename?.[0] })
  }
  const validatesType = fieldValidation !== 'Ignore'
  const query = { ...filesOf(flags), labelSelector: flags.selector, validatesType }
  if (flags.edit) {
    const { editBeforeCreate } = await import('./edit-before-create.ts')
    return editBeforeCreate(invocation, { query, print, fieldValidation })
  }
  const count = await visitResources(factory, query, async info => {
    const object = configured(info.object ?? {}, flags['save-config'] ?? false)
    if (dryRun === 'client') {
      print(object, 'created')
      return
    }
    const resources = await factory.resources()
    const fieldManager = flags['field-manager'] ?? 'kubectl-create'
    try {
      const options = { dryRun: dryRun === 'server', fieldManager, fieldValidation }
      print(await resources.create(locationOf(info), object, options), 'created')
    } catch (error) {
      throw new ContextError(`error when creating ${JSON.stringify(info.source ?? '')}`, error)
    }
  })
  if (count === 0) throw new Error('no objects passed to create')
}

/** With the annotation of `kubectl apply` if that is wanted or was there before. */
function configured(object: JsonObject, saveConfig: boolean): JsonObject {
  return saveConfig || lastAppliedOf(object) !== '' ? withLastApplied(object) : object
}

function validateRaw(flags: FlagValues<typeof createFileFlags>): void {
  const { filename = [], raw = '' } = flags
  const [file = '', ...others] = filename
  if (flags.edit) throw new Error('--raw and --edit are mutually exclusive')
  if (file === '' || others.length > 0) throw new Error('--raw can only use a single local file or stdin')
  if (/^https?:\/\//.test(file)) throw new Error('--raw cannot read from a url')
  if (flags.recursive) throw new Error('--raw and --recursive are mutually exclusive')
  if (flags.selector) throw new Error('--raw and --selector (-l) are mutually exclusive')
  if (splitOutput(flags).format !== '') throw new Error('--raw and --output are mutually exclusive')
  if (!raw.startsWith('/') && !URL.canParse(raw)) {
    throw new Error(`--raw must be a valid URL path: parse ${JSON.stringify(raw)}: invalid URI for request`)
  }
}
