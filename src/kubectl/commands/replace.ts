import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { deletionFlags, propagationPolicyOf } from '../delete/delete-flags.ts'
import { ContextError } from '../errors.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf, type ResultPrinter } from '../printers/result-printer.ts'
import { findResources, throwAny, visitInfos, visitResources } from '../resource/find-resources.ts'
import { locationOf, metadataText, requireObjectName, type Info } from '../resource/info.ts'
import { lastAppliedOf, withLastApplied } from '../resource/last-applied.ts'
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  filesOf,
  hasFiles,
  validateFlag,
  type DryRun,
} from '../write-flags.ts'

const replaceFlags = {
  ...printFlags,
  ...deletionFlags,
  ...filenameFlags('Files, folders or URLs with the new objects.'),
  'dry-run': dryRunFlag,
  'field-manager': fieldManagerFlag('kubectl-replace'),
  'raw': stringFlag('Send PUT to this path.'),
  'save-config': boolFlag('Store the configuration in the annotation of "kubectl apply".'),
  'subresource': stringFlag('Replace a subresource of the objects: status, scale, resize.'),
  'validate': validateFlag,
  'wait': boolFlag('With --force, wait until the old objects are gone.'),
}

type ReplaceInvocation = Invocation<typeof replaceFlags>

export const command = defineCommand({
  usage: 'replace -f FILENAME',
  description: `Replaces objects by file or stdin. The complete objects must be given: "kubectl get TYPE
NAME -o yaml" shows them.

With --force an object is deleted and created again, which also changes fields that cannot be updated.`,
  examples: `  # Replace the object of a file
  kubectl replace -f pod.json

  # Another image for the first container of a pod
  kubectl get pod web-0 -o yaml | sed 's/\\(image: nginx\\):.*$/\\1:1.29/' | kubectl replace -f -

  # Delete and create
  kubectl replace --force -f pod.json`,
  flags: replaceFlags,
  async run(invocation) {
    const { flags, factory, streams } = invocation
    const fieldValidation = fieldValidationOf(flags.validate)
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
    propagationPolicyOf(flags.cascade, streams)
    validateFlags(invocation, dryRun)
    if (flags.raw) {
      const { sendRaw } = await import('../resource/send-raw.ts')
      return sendRaw(factory, { method: 'PUT', path: flags.raw, filename: flags.filename?.[0] })
    }
    const replacement = { fieldValidation, dryRun, print }
    if (flags.force) return forceReplace(invocation, replacement)
    const query = {
      ...filesOf(flags),
      subresource: flags.subresource,
      validatesType: fieldValidation !== 'Ignore',
    }
    await visitResources(factory, query, info => replace(invocation, info, replacement))
  },
})

function validateFlags({ flags }: ReplaceInvocation, dryRun: DryRun): void {
  const { force, timeout = 0, raw, filename = [] } = flags
  if (!hasFiles(flags)) throw new Error('must specify one of -f and -k')
  if ((flags['grace-period'] ?? -1) >= 0 && !force)
    throw new Error('--grace-period must have --force specified')
  if (timeout !== 0 && !force) throw new Error('--timeout must have --force specified')
  if (force && dryRun !== 'none') throw new Error('--dry-run can not be used when --force is set')
  if (!raw) return
  const [file, ...others] = filename
  if (file === undefined || others.length > 0)
    throw new Error('--raw can only use a single local file or stdin')
  if (/^https?:\/\//.test(file)) throw new Error('--raw cannot read from a url')
  if (flags.recursive) throw new Error('--raw and --recursive are mutually exclusive')
  if (flags.output) throw new Error('--raw and --output are mutually exclusive')
}

interface Replacement {
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
  readonly dryRun: DryRun
  readonly print: ResultPrinter
}

async function replace(
  invocation: ReplaceInvocation,
  info: Info,
  { fieldValidation, dryRun, print }: Replacement,
): Promise<void> {
  const { flags, factory } = invocation
  const object = configured(invocation, info)
  if (dryRun === 'client') {
    print(object, 'replaced')
    return
  }
  const write = {
    dryRun: dryRun === 'server',
    fieldManager: flags['field-manager'] ?? 'kubectl-replace',
    fieldValidation,
  }
  const location = locationOf(info, flags.subresource)
  const resources = await factory.resources()
  let replaced: JsonObject
  try {
    requireObjectName(info)
    const current =
      metadataText(object, 'resourceVersion') === '' ? await currentVersion(invocation, info) : undefined
    replaced = await resources.replace(location, current ? withVersion(object, current) : object, write)
  } catch (error) {
    throw new ContextError(`error when replacing ${JSON.stringify(info.source ?? '')}`, error)
  }
  print(replaced, 'replaced')
}

/** With the annotation of `kubectl apply` if that is wanted or was there before. */
function configured({ flags }: ReplaceInvocation, { object = {} }: Info): JsonObject {
  return flags['save-config'] || lastAppliedOf(object) !== '' ? withLastApplied(object) : object
}

/**
 * Kinds that cannot be updated without a version get the current one. Undefined if the object does not exist.
 */
async function currentVersion(
  { flags, factory }: ReplaceInvocation,
  info: Info,
): Promise<string | undefined> {
  const resources = await factory.resources()
  try {
    return metadataText(await resources.get(locationOf(info, flags.subresource)), 'resourceVersion')
  } catch (error) {
    if (isApiError(error)) return undefined
    throw error
  }
}

function withVersion(object: JsonObject, resourceVersion: string): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return { ...object, metadata: { ...metadata, resourceVersion } }
}

/** The time to wait for the deletion, without `--timeout`. */
const defaultTimeoutMs = 300_000

/** Deletes all objects, and creates them when they are gone. */
async function forceReplace(
  invocation: ReplaceInvocation,
  { fieldValidation, print }: Replacement,
): Promise<void> {
  const { flags, factory, streams } = invocation
  const [{ deleteObjects }, { waitForDeletion }] = await Promise.all([
    import('../delete/delete-objects.ts'),
    import('../delete/wait-for-deletion.ts'),
  ])
  const { infos, errors } = await findResources(factory, {
    ...filesOf(flags),
    validatesType: fieldValidation !== 'Ignore',
  })
  const given = flags['grace-period'] ?? -1
  // Only --force of "kubectl delete" removes objects at once.
  const gracePeriodSeconds = given < 0 ? undefined : Math.max(1, given)
  const { deleted, failures } = await deleteObjects(infos, {
    factory,
    plan: { propagationPolicy: propagationPolicyOf(flags.cascade, streams), gracePeriodSeconds },
    dryRun: 'none',
    ignoreNotFound: true,
    printsNames: flags.output === 'name',
  })
  throwAny([...errors, ...failures])
  if (infos.length === 0) streams.write('No resources found\n')
  await waitForDeletion(factory, { deleted, timeoutMs: flags.timeout || defaultTimeoutMs })
  const resources = await factory.resources()
  const write = { fieldManager: flags['field-manager'] ?? 'kubectl-replace', fieldValidation }
  const created = await visitInfos(infos, async info => {
    print(await resources.create(locationOf(info), configured(invocation, info), write), 'replaced')
  })
  throwAny(created)
  if (infos.length === 0) throw new Error('no objects passed to replace')
}
