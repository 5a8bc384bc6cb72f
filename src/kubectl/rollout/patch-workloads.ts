import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Invocation } from '../command.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf } from '../printers/result-printer.ts'
import { findResources, throwAny, visitInfos } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { fieldManagerFlag } from '../write-flags.ts'
import { rolloutFlags, rolloutQueryOf } from './rollout-query.ts'

export const patchWorkloadsFlags = {
  ...printFlags,
  ...rolloutFlags,
  'field-manager': fieldManagerFlag('kubectl-rollout'),
}

export interface PatchWorkloadsOptions {
  /** `paused`. */
  readonly operation: string
  /** The strategic merge patch for a workload; a text is the reason why there can be none. */
  readonly patchOf: (info: Info) => JsonObject | string
}

/** Patches all workloads that the command line names, and prints them. */
export async function patchWorkloads(
  invocation: Invocation<typeof patchWorkloadsFlags>,
  { operation, patchOf }: PatchWorkloadsOptions,
): Promise<void> {
  const { flags, factory, streams } = invocation
  const { infos, errors: missing } = await findResources(factory, rolloutQueryOf(invocation))
  if (infos.length === 0 && missing.length === 0) {
    streams.stderr.write(`No resources found in ${(await factory.namespace()).namespace} namespace.\n`)
    return
  }
  const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun: 'none' })
  const resources = await factory.resources()
  const fieldManager = flags['field-manager'] ?? 'kubectl-rollout'
  const errors = await visitInfos(infos, async info => {
    const patch = patchOf(info)
    if (typeof patch === 'string') throw new Error(patch)
    try {
      const body = JSON.stringify(patch)
      print(await resources.patch(locationOf(info), { type: 'strategic', body }, { fieldManager }), operation)
    } catch (error) {
      throw new Error(`failed to patch: ${messageOf(error)}`, { cause: error })
    }
  })
  throwAny([...missing, ...errors])
}

/** `error: deployments.apps "web" is already paused`. */
export function refusal({ mapping: { plural, group }, name }: Info, reason: string): string {
  return `error: ${group === '' ? plural : `${plural}.${group}`} ${quote(name)} ${reason}`
}

export function isPaused({ object }: Info): boolean {
  const spec = object?.['spec']
  return isObject(spec) && spec['paused'] === true
}

/** True if the workload is one of these kinds of the group `apps`. */
export function isAppsKind({ mapping }: Info, kinds: readonly string[]): boolean {
  return mapping.group === 'apps' && kinds.includes(mapping.kind)
}
