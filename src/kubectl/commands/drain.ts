import { parseSelector } from '#/api/selectors/parse-selector.ts'
import { messageOf } from '#/base/message-of.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { cordon, cordonFlags } from '../drain/cordon.ts'
import { drainErrorText, NodeDrain, type DrainOptions } from '../drain/drain-node.ts'
import { findNodes } from '../drain/find-nodes.ts'
import { ExitError } from '../errors.ts'
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flag-types.ts'
import { objectName } from '../resource/info.ts'
import { chunkSizeFlag } from '../selection-flags.ts'
import { dryRunOf, operationText, type DryRun } from '../write-flags.ts'

const usage = 'drain NODE'

const flags = {
  ...cordonFlags,
  'chunk-size': chunkSizeFlag,
  'delete-emptydir-data': boolFlag('Also evict pods with emptyDir volumes, whose data are lost.'),
  'disable-eviction': boolFlag('Delete pods instead of evicting them, which ignores disruption budgets.'),
  'force': boolFlag('Also evict pods without a controller, which nothing creates again.'),
  'grace-period': intFlag('Seconds that each pod has to terminate; negative for the time in its spec.', {
    shownDefault: '-1',
  }),
  'ignore-daemonsets': boolFlag('Leave the pods of daemon sets alone.'),
  'pod-selector': stringFlag('Label selector of the pods that are evicted.'),
  'skip-wait-for-delete-timeout': intFlag(
    'Do not wait for pods whose deletionTimestamp is older than this many seconds; 0 for none.',
  ),
  'timeout': durationFlag('Time to wait; 0 for no limit.'),
}

export const command = defineCommand({
  usage,
  description: `Drains nodes before maintenance: marks them as unschedulable, evicts their pods and waits
until these have terminated.

Evictions respect disruption budgets, and are repeated until they are allowed. The pods of daemon sets
cannot be moved: the command refuses such nodes without --ignore-daemonsets, and leaves the pods alone with
it. It also refuses pods that no controller would create again, without --force, and pods with emptyDir
volumes, without --delete-emptydir-data. Mirror pods are ignored. "kubectl uncordon" makes a node
schedulable again.`,
  examples: `  # Drain a node, also of pods without a controller
  kubectl drain node-1 --force

  # With 15 minutes for each pod to terminate
  kubectl drain node-1 --grace-period=900

  # The usual options
  kubectl drain node-1 --ignore-daemonsets --delete-emptydir-data`,
  flags,
  async run(invocation) {
    const { args, flags: given, factory, streams } = invocation
    validatePodSelector(given['pod-selector'])
    const dryRun = dryRunOf(given['dry-run'], streams)
    const options = drainOptionsOf(invocation, dryRun)
    const nodes = await findNodes(factory, {
      args,
      selector: given.selector,
      usage,
      chunkSize: options.chunkSize,
    })
    await cordon(factory, { nodes, schedulable: false, dryRun })
    const failed = new Map<string, unknown>()
    for (const info of nodes) {
      try {
        await new NodeDrain(factory, info.name, options).run()
        streams.write(`${objectName(info)} ${operationText('drained', dryRun)}\n`)
      } catch (error) {
        if (error instanceof ExitError) throw error
        const text = `unable to drain node "${info.name}" due to error: ${drainErrorText(error)}`
        streams.stderr.write(`error: ${text}, continuing command...\n`)
        failed.set(info.name, error)
      }
    }
    if (failed.size === 0) return
    const names = [...failed.keys()].map(name => ` ${name}\n`)
    const reasons = [...failed.values()].flatMap(error =>
      error instanceof AggregateError ? error.errors : [error],
    )
    const lines = reasons.map(reason => `${messageOf(reason)}\n`)
    streams.stderr.write(`There are pending nodes to be drained:\n${[...names, ...lines].join('')}`)
    throw new ExitError(1)
  },
})

function validatePodSelector(text: string | undefined): void {
  if (!text) return
  try {
    parseSelector(text)
  } catch (error) {
    throw new Error('--pod-selector=<pod_selector> must be a valid label selector', { cause: error })
  }
}

function drainOptionsOf({ flags: given }: Invocation<typeof flags>, dryRun: DryRun): DrainOptions {
  return {
    force: given.force ?? false,
    ignoreDaemonSets: given['ignore-daemonsets'] ?? false,
    deleteEmptyDirData: given['delete-emptydir-data'] ?? false,
    skipDeletedSeconds: given['skip-wait-for-delete-timeout'] ?? 0,
    podSelector: given['pod-selector'] ?? '',
    chunkSize: given['chunk-size'] ?? 500,
    gracePeriodSeconds: given['grace-period'] ?? -1,
    timeoutMs: given.timeout ?? 0,
    disableEviction: given['disable-eviction'] ?? false,
    dryRun,
  }
}
