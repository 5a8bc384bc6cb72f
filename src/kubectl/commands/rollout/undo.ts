import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { messageOf } from '#/base/message-of.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { intFlag } from '../../flag-types.ts'
import { printFlags } from '../../printers/object-printer.ts'
import { resultPrinterOf } from '../../printers/result-printer.ts'
import { visitResources } from '../../resource/find-resources.ts'
import { locationOf, type Info } from '../../resource/info.ts'
import { findRevision, planRollback } from '../../rollout/plan-rollback.ts'
import { revisionsOf } from '../../rollout/revision.ts'
import { rolloutFlags, rolloutQueryOf } from '../../rollout/rollout-query.ts'
import { dryRunFlag, dryRunOf, type DryRun } from '../../write-flags.ts'

const flags = {
  ...printFlags,
  ...rolloutFlags,
  'dry-run': dryRunFlag,
  'to-revision': intFlag('The revision to go back to; 0 for the previous one.'),
}

export const command = defineCommand({
  usage: 'undo (TYPE NAME | TYPE/NAME) [flags]',
  description: 'Rolls workloads back to a previous revision.',
  examples: `  # Back to the previous revision of a deployment
  kubectl rollout undo deployment/web

  # Back to a certain revision of a daemon set
  kubectl rollout undo daemonset/agent --to-revision=3

  # Only try
  kubectl rollout undo --dry-run=server deployment/web`,
  flags,
  async run(invocation) {
    const { flags: given, factory, streams } = invocation
    const dryRun = dryRunOf(given['dry-run'], streams)
    const query = rolloutQueryOf(invocation)
    const print = await resultPrinterOf({ flags: given, machine: factory.machine, dryRun })
    await visitResources(factory, query, async info => {
      warnOfApply(invocation, info)
      print(info.object ?? {}, await rollBack(invocation, info, dryRun))
    })
  },
})

type UndoInvocation = Invocation<typeof flags>

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

function warnOfApply({ streams }: UndoInvocation, { object = {}, mapping, name }: Info): void {
  const { metadata } = object
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  if (!isObject(annotations) || annotations[lastApplied] === undefined) return
  streams.stderr.write(
    `Warning: resource ${mapping.plural}/${name} was previously managed with 'kubectl apply'. ` +
      'Rolling back will not ' +
      `update the ${lastApplied} annotation, which may cause unexpected behavior on future 'kubectl apply' ` +
      `operations. Consider using 'kubectl apply' with your previous configuration file instead.\n`,
  )
}

/** What was done: `rolled back`. */
async function rollBack(
  { flags: given, factory }: UndoInvocation,
  info: Info,
  dryRun: DryRun,
): Promise<string> {
  const toRevision = given['to-revision'] ?? 0
  const object: JsonObject = info.object ?? {}
  const revision = findRevision({
    object,
    revisions: await revisionsOf(factory, info, 'rollbacker'),
    toRevision,
  })
  if (dryRun === 'client') {
    const { podTemplateText } = await import('../../describe/pod-template-text.ts')
    const template = podTemplateText(revision.template)
    return revision.patch === undefined ? template : `will roll back to ${template}`
  }
  const plan = planRollback(object, revision)
  if (plan === undefined) return `skipped rollback (current template already matches revision ${toRevision})`
  const resources = await factory.resources()
  const body = JSON.stringify(plan.patch)
  try {
    await resources.patch(locationOf(info), { type: plan.type, body }, { dryRun: dryRun === 'server' })
  } catch (error) {
    throw new Error(`failed restoring revision ${toRevision}: ${messageOf(error)}`, { cause: error })
  }
  return 'rolled back'
}
