import { createStrategicMergePatch } from '#/api/patch.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { changeCauseOf, withChangeCause } from '../change-cause.ts'
import type { Invocation } from '../command.ts'
import { toCompactJson } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { requireResources, throwAny, type ResourceQuery } from '../resource/find-resources.ts'
import { locationOf, objectName, type Info } from '../resource/info.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import { dryRunOf, filesOf, type DryRun } from '../write-flags.ts'
import type { recordedSetFlags } from './set-flags.ts'

/** `record` is absent for subcommands that cannot record themselves. */
export type SetInvocation = Pick<
  Invocation<typeof recordedSetFlags>,
  'args' | 'flags' | 'flagTexts' | 'factory' | 'streams' | 'commandPath'
>

export interface SetQuery {
  readonly resources: readonly string[]
  readonly labelSelector?: string | undefined
}

/** The objects of a subcommand, read from the server, or from files with `--local`. */
export async function findSetObjects(
  { flags, factory }: Pick<SetInvocation, 'flags' | 'factory'>,
  { resources, labelSelector }: SetQuery,
): Promise<readonly Info[]> {
  const query: ResourceQuery = flags.local
    ? localQuery(flags, resources)
    : { ...filesOf(flags), args: resources, labelSelector, allowEmptySelector: flags.all, latest: true }
  const infos = await requireResources(factory, query)
  return flags.local ? Promise.all(infos.map(withTypedFields)) : infos
}

function localQuery(flags: SetInvocation['flags'], resources: readonly string[]): ResourceQuery {
  if (resources.length === 0) return { ...filesOf(flags), local: true }
  throw new Error(`you must specify resources by --filename when --local is set.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'`)
}

/** With the empty fields that Kubernetes includes in the JSON of its types. */
async function withTypedFields(info: Info): Promise<Info> {
  const [schema, { withAbsentFields }] = await Promise.all([
    kindSchemaOf(info.mapping),
    import('#/api/zero-fields.ts'),
  ])
  return schema?.type === 'struct' ? { ...info, object: withAbsentFields(info.object ?? {}, schema) } : info
}

export function validateSetFlags(
  { flags }: Pick<SetInvocation, 'flags'>,
  { dryRun, labelSelector }: { readonly dryRun: DryRun; readonly labelSelector?: string | undefined },
): void {
  if (flags.local && dryRun === 'server') {
    throw new Error('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
  }
  if (flags.all && labelSelector) throw new Error('cannot set --all and --selector at the same time')
}

export interface SetObjectsOptions {
  readonly infos: readonly Info[]
  /** `image updated`. */
  readonly operation: string
  /** Before the message of a rejected patch. */
  readonly failure: string
  /**
   * Undefined or an equal object if there is nothing to change. Throws Error for an object that cannot have
   * it.
   */
  readonly change: (object: JsonObject, info: Info) => JsonObject | undefined
  /** Sends and prints objects without changes, too. */
  readonly sendsUnchanged?: boolean
  /** Errors that were found before; printed with those of the patches. */
  readonly errors?: readonly Error[]
}

/** Changes the objects with strategic merge patches, and prints those that were changed. */
export async function setObjects(invocation: SetInvocation, options: SetObjectsOptions): Promise<void> {
  const { flags, factory, streams } = invocation
  const dryRun = dryRunOf(flags['dry-run'], streams)
  const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun })
  const changed = options.infos.map(info => changeOf(invocation, info, options))
  // Changes may report errors of their own.
  const errors: unknown[] = [...(options.errors ?? [])]
  for (const change of changed) {
    if (change === undefined) continue
    if (change instanceof Error) {
      errors.push(change)
      continue
    }
    const { info, object } = change
    try {
      const patch = await patchOf(info, object)
      if (!options.sendsUnchanged && Object.keys(patch).length === 0) continue
      const isLocal = flags.local || dryRun === 'client'
      print(isLocal ? object : await send(invocation, { info, patch, dryRun }), options.operation)
    } catch (error) {
      errors.push(new Error(`${options.failure}${messageOf(error)}`, { cause: error }))
    }
  }
  throwAny(errors)
}

function changeOf(
  invocation: SetInvocation,
  info: Info,
  { change }: SetObjectsOptions,
): { readonly info: Info; readonly object: JsonObject } | Error | undefined {
  try {
    const object = change(info.object ?? {}, info)
    return object && { info, object: withChangeCause(object, changeCauseOf(invocation)) }
  } catch (error) {
    const { mapping, name } = info
    const subject = mapping.plural === '' ? objectName(info) : `${mapping.plural}/${name}`
    return new Error(`error: ${subject} ${messageOf(error)}`, { cause: error })
  }
}

async function patchOf(info: Info, object: JsonObject): Promise<JsonObject> {
  const schema = await kindSchemaOf(info.mapping)
  if (schema === undefined) throw new Error(`strategic merge patch is not supported for ${info.mapping.kind}`)
  return createStrategicMergePatch(info.object ?? {}, object, schema)
}

async function send(
  { flags, factory }: SetInvocation,
  { info, patch, dryRun }: { readonly info: Info; readonly patch: JsonObject; readonly dryRun: DryRun },
): Promise<JsonObject> {
  const resources = await factory.resources()
  const write = { dryRun: dryRun === 'server', fieldManager: flags['field-manager'] ?? 'kubectl-set' }
  return resources.patch(locationOf(info), { type: 'strategic', body: toCompactJson(patch) }, write)
}

export function isKind(object: JsonObject, kind: string, group: string): boolean {
  const { apiVersion } = object
  const objectGroup =
    typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.split('/')[0] : ''
  return object['kind'] === kind && objectGroup === group && isObject(object['metadata'])
}
