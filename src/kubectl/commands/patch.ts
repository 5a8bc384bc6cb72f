import { resolve } from 'node:path'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { isApiError } from '#/api/errors.ts'
import type { Schema } from '#/api/schema.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { changeCauseOf, changeCausePatch, recordFlag } from '../change-cause.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { visitResources } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { kindSchemaOf } from '../resource/kind-schema.ts'
import { patchTypes } from '../resource/resource-client.ts'
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  filenameFlags,
  filesOf,
  type DryRun,
} from '../write-flags.ts'

const patchFlags = {
  ...printFlags,
  ...filenameFlags('Files, folders or URLs that name the objects.'),
  'dry-run': dryRunFlag,
  'field-manager': fieldManagerFlag('kubectl-patch'),
  'local': boolFlag('Patch the objects of the files instead of those at the server.'),
  'patch': stringFlag('The patch, as JSON or YAML.', { shorthand: 'p' }),
  'patch-file': stringFlag('File with the patch.'),
  'record': recordFlag,
  'subresource': stringFlag('Patch a subresource of the objects: status, scale, resize.'),
  'type': stringFlag('The type of the patch: json, merge or strategic.', { shownDefault: `'strategic'` }),
}

type PatchInvocation = Invocation<typeof patchFlags>

export const command = defineCommand({
  usage: 'patch (-f FILENAME | TYPE NAME) [-p PATCH|--patch-file FILE]',
  description: `Updates fields of objects with a strategic merge patch, a JSON merge patch or a JSON patch.

A strategic merge patch is like a part of the object; lists with keys, such as containers, are merged by
key. Custom resources have no such patches: use --type=merge, in which a list replaces the whole list, and
null removes a field.`,
  examples: `  # Mark a node as unschedulable
  kubectl patch node node-1 -p '{"spec":{"unschedulable":true}}'

  # The same for a node that a file names
  kubectl patch -f node.json -p '{"spec":{"unschedulable":true}}'

  # The image of one container; the name is the key of the list
  kubectl patch pod web-0 -p '{"spec":{"containers":[{"name":"main","image":"nginx:1.29"}]}}'

  # The same with a JSON patch
  kubectl patch pod web-0 --type=json -p='[{"op":"replace","path":"/spec/containers/0/image","value":"nginx:1.29"}]'

  # The number of replicas with the scale subresource
  kubectl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'`,
  flags: patchFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const type = validateFlags(invocation, dryRun)
    const patch = await readPatch(invocation)
    const isLocal = flags.local || dryRun === 'client'
    const count = await visitResources(
      factory,
      { ...filesOf(flags), args, local: flags.local, requireObject: true, subresource: flags.subresource },
      info =>
        isLocal
          ? patchLocally(invocation, { info, type, patch, dryRun })
          : patchAtServer(invocation, { info, type, patch, dryRun }),
    )
    if (count === 0) throw new Error('no objects passed to patch')
  },
})

type PatchType = 'json' | 'merge' | 'strategic'

const typeNames: readonly PatchType[] = ['json', 'merge', 'strategic']

function validateFlags({ args, flags }: PatchInvocation, dryRun: DryRun): PatchType {
  if (flags.patch && flags['patch-file']) throw new Error('cannot specify --patch and --patch-file together')
  if (!flags.patch && !flags['patch-file']) {
    throw new Error('must specify --patch or --patch-file containing the contents of the patch')
  }
  if (flags.local && args.length > 0) throw new Error('cannot specify --local and server resources')
  if (flags.local && dryRun === 'server') {
    throw new Error('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
  }
  const given = flags.type || 'strategic'
  const type = typeNames.find(name => name === given.toLowerCase())
  if (type === undefined)
    throw new Error(`--type must be one of [${typeNames.join(' ')}], not ${quote(given)}`)
  return type
}

/** JSON is sent as it is, so that the server reports its errors; YAML is converted. */
async function readPatch({ flags, factory }: PatchInvocation): Promise<string> {
  const { machine } = factory
  const file = flags['patch-file']
  let text: Uint8Array | string = flags.patch ?? ''
  if (file) {
    try {
      text = await machine.platform.files.read(resolve(machine.workingFolder, file))
    } catch (error) {
      throw new Error(`unable to read patch file: open ${file}: no such file or directory`, { cause: error })
    }
  }
  const content = Buffer.from(text).toString()
  if (/^\s*\{/.test(content)) return content
  const [{ parseYaml }, { stringifyJson }] = await Promise.all([
    import('#/api/text/yaml.ts'),
    import('#/api/text/json.ts'),
  ])
  try {
    return stringifyJson(parseYaml(content))
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new Error(`unable to parse ${quote(flags.patch ?? '')}: ${error.message}`, { cause: error })
  }
}

interface PatchedInfo {
  readonly info: Info
  readonly type: PatchType
  readonly patch: string
  readonly dryRun: DryRun
}

async function patchAtServer(
  invocation: PatchInvocation,
  { info, type, patch, dryRun }: PatchedInfo,
): Promise<void> {
  const { flags, factory } = invocation
  const location = locationOf(info, flags.subresource)
  const resources = await factory.resources()
  const query = { dryRun: dryRun === 'server', fieldManager: flags['field-manager'] ?? 'kubectl-patch' }
  let patched: JsonObject
  try {
    patched = await resources.patch(location, { type, body: patch }, query)
  } catch (error) {
    if (!isApiError(error, 'UnsupportedMediaType')) throw error
    const { group, version, kind } = info.mapping
    const hint = type === 'strategic' ? '\nUse --type=merge for custom resources.' : ''
    throw new Error(
      `${patchTypes[type]} is not supported by ${group}/${version}, Kind=${kind}: ${error.message}${hint}`,
      {
        cause: error,
      },
    )
  }
  const cause = changeCauseOf(invocation)
  const isChanged = !equalJson(info.object, patched)
  if (cause !== undefined)
    patched = await resources.patch(location, { type: 'merge', body: changeCausePatch(cause) }, query)
  await print(invocation, { object: patched, isChanged })
}

async function patchLocally(invocation: PatchInvocation, { info, type, patch }: PatchedInfo): Promise<void> {
  const current = info.object ?? {}
  const [{ applyPatch }, { parseJson }] = await Promise.all([
    import('#/api/patch.ts'),
    import('#/api/text/json.ts'),
  ])
  const schema = type === 'strategic' ? await schemaOf(info) : undefined
  let patched: JsonValue
  try {
    patched = applyPatch(type, { current, patch: parseJson(patch), schema })
  } catch (error) {
    // It is not an error of the server.
    throw isApiError(error) || error instanceof DecodeError
      ? new Error(error.message, { cause: error })
      : error
  }
  if (!isObject(patched)) throw new Error('the patched value is not an object')
  await print(invocation, { object: patched, isChanged: !equalJson(current, patched) })
}

async function schemaOf({ mapping }: Info): Promise<Schema> {
  const schema = await kindSchemaOf(mapping)
  if (schema !== undefined) return schema
  const { group, version, kind } = mapping
  const name = `${group}/${version}, Kind=${kind}`
  throw new Error(`strategic merge patch is not supported for ${name} locally, try --type merge`)
}

/** As upstream, without a note of the dry run. */
async function print(
  { flags, factory }: PatchInvocation,
  { object, isChanged }: { readonly object: JsonObject; readonly isChanged: boolean },
): Promise<void> {
  const printResult = await resultPrinterOf({ flags, machine: factory.machine, dryRun: 'none' })
  printResult(object, isChanged ? 'patched' : 'patched (no change)')
}
