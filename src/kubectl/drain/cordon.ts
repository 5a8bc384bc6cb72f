import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { locationOf, objectName } from '../resource/info.ts'
import { dryRunFlag, operationText, selectorFlag, type DryRun } from '../write-flags.ts'
import { nodeIn, type NodeInfo } from './find-nodes.ts'

export const cordonFlags = { 'dry-run': dryRunFlag, 'selector': selectorFlag }

export interface CordonOptions {
  readonly nodes: readonly NodeInfo[]
  /** Whether pods may be scheduled to the nodes afterwards. */
  readonly schedulable: boolean
  readonly dryRun: DryRun
}

/** Marks nodes as unschedulable, or as schedulable again. Errors are printed, and do not end the command. */
export async function cordon(factory: Factory, { nodes, schedulable, dryRun }: CordonOptions): Promise<void> {
  const { streams } = factory.machine
  const resources = await factory.resources()
  const verb = schedulable ? 'uncordon' : 'cordon'
  for (const info of nodes) {
    const isDone = (nodeIn(info).spec?.unschedulable ?? false) !== schedulable
    try {
      if (!isDone && dryRun !== 'client') {
        const body = JSON.stringify({ spec: { unschedulable: schedulable ? null : true } })
        await resources.patch(locationOf(info), { type: 'strategic', body }, { dryRun: dryRun === 'server' })
      }
      const operation = operationText(`${isDone ? 'already ' : ''}${verb}ed`, dryRun)
      streams.write(`${objectName(info)} ${operation}\n`)
    } catch (error) {
      streams.stderr.write(`error: unable to ${verb} node "${info.name}": ${messageOf(error)}\n`)
    }
  }
}
