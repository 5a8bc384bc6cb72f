import type { Node } from '#/api/generated/core/v1.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { NoResourceMatchError } from '../discovery/rest-mapper.ts'
import { CommandUsageError, UnprefixedError } from '../errors.ts'
import { boolFlag } from '../flag-types.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf, type ResultPrinter } from '../printers/result-printer.ts'
import { visitResources } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'
import { conflictingTaints, parseTaints, planTaints, type TaintChanges } from '../taint/plan-taints.ts'
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  selectorFlag,
  validateFlag,
  type DryRun,
} from '../write-flags.ts'

const flags = {
  ...printFlags,
  'all': boolFlag('All nodes.'),
  'dry-run': dryRunFlag,
  'field-manager': fieldManagerFlag('kubectl-taint'),
  'overwrite': boolFlag('Replace taints with the same key and effect, which is an error otherwise.'),
  'selector': selectorFlag,
  'validate': validateFlag,
}

type TaintInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'taint NODE NAME KEY_1=VAL_1:TAINT_EFFECT_1 ... KEY_N=VAL_N:TAINT_EFFECT_N',
  description: `Changes the taints of nodes, which keep pods without matching tolerations away.

A taint is key=value:effect; the value may be absent. The effect is NoSchedule, PreferNoSchedule or
NoExecute. A dash at the end removes a taint: key:effect-, or key- for all effects.`,
  examples: `  # Add a taint; with --overwrite, also if the node has one with this key and effect
  kubectl taint nodes node-1 dedicated=database:NoSchedule

  # Remove it
  kubectl taint nodes node-1 dedicated:NoSchedule-

  # Remove all taints with a key
  kubectl taint nodes node-1 dedicated-

  # The nodes with a label
  kubectl taint node -l disk=ssd dedicated=database:PreferNoSchedule

  # A taint without a value
  kubectl taint nodes node-1 maintenance:NoSchedule`,
  flags,
  async run(invocation) {
    const { flags: given, factory, streams } = invocation
    const dryRun = dryRunOf(given['dry-run'], streams)
    const fieldValidation = fieldValidationOf(given.validate)
    const { resources, changes } = splitArguments(invocation)
    const [type = '', ...names] = resources
    await validate(invocation, { type, names, changes })
    // The message does not tell a dry run.
    const print = await resultPrinterOf({ flags: given, machine: factory.machine, dryRun: 'none' })
    const selected = given.all || given.selector
    await visitResources(
      factory,
      {
        args: selected ? ['nodes'] : names,
        ...(!selected && { defaultType: 'nodes' }),
        labelSelector: given.selector,
        all: given.all,
        latest: true,
      },
      info => taint(invocation, { info, changes, print, dryRun, fieldValidation }),
    )
  },
})

/** The resources come first. */
function splitArguments({ args }: TaintInvocation) {
  const isTaint = (word: string): boolean => word.includes('=') || word.includes(':') || word.endsWith('-')
  const first = args.findIndex(isTaint)
  const resources = first === -1 ? args : args.slice(0, first)
  const specs = first === -1 ? [] : args.slice(first)
  const misplaced = specs.find(word => !isTaint(word))
  if (misplaced !== undefined)
    throw new Error(`all resources must be specified before taint changes: ${misplaced}`)
  if (resources.length === 0) throw new Error('one or more resources must be specified as <resource> <name>')
  if (specs.length === 0) throw new Error('at least one taint update is required')
  try {
    return { resources, changes: parseTaints(specs) }
  } catch (error) {
    throw new CommandUsageError(messageOf(error), { cause: error })
  }
}

interface ValidateOptions {
  readonly type: string
  readonly names: readonly string[]
  readonly changes: TaintChanges
}

async function validate(
  { flags: given, factory }: TaintInvocation,
  { type, names, changes }: ValidateOptions,
): Promise<void> {
  const mapper = await factory.restMapper()
  const { kind } = await mapper.resourceFor(type).catch((error: unknown) => {
    throw error instanceof NoResourceMatchError ? new UnprefixedError(error.message, { cause: error }) : error
  })
  if (kind !== 'Node')
    throw new Error(`invalid resource type ${type.toLowerCase()}, only node types are supported`)
  const conflicts = conflictingTaints(changes)
  if (conflicts.length > 0) {
    throw new Error(
      `can not both modify and remove the following taint(s) in the same command: ${conflicts.join(', ')}`,
    )
  }
  const { all, selector } = given
  if (all && selector) throw new Error(`setting 'all' parameter with a non empty selector is prohibited`)
  if (!all && !selector && names.length === 0) {
    throw new Error(`at least one resource name must be specified since 'all' parameter is not set`)
  }
}

interface TaintedNode {
  readonly info: Info
  readonly changes: TaintChanges
  readonly print: ResultPrinter
  readonly dryRun: DryRun
  readonly fieldValidation: string
}

async function taint({ flags: given, factory }: TaintInvocation, options: TaintedNode): Promise<void> {
  const { info, changes, print, dryRun, fieldValidation } = options
  const { object = {} } = info
  const { spec } = object as unknown as Node
  const overwrite = given.overwrite ?? false
  const { operation, taints } = planTaints({ node: info.name, taints: spec?.taints, overwrite, ...changes })
  if (dryRun === 'client') {
    const planned = taints as unknown as JsonObject[]
    print(
      { ...object, spec: { ...(isObject(object['spec']) && object['spec']), taints: planned } },
      operation,
    )
    return
  }
  const resources = await factory.resources()
  const body = JSON.stringify({ spec: { taints: taints.length > 0 ? taints : null } })
  const query = {
    dryRun: dryRun === 'server',
    fieldManager: given['field-manager'] ?? 'kubectl-taint',
    fieldValidation,
  }
  print(await resources.patch(locationOf(info), { type: 'strategic', body }, query), operation)
}
