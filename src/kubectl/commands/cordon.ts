import { defineCommand } from '../command.ts'
import { cordon, cordonFlags } from '../drain/cordon.ts'
import { findNodes } from '../drain/find-nodes.ts'
import { dryRunOf } from '../write-flags.ts'

const usage = 'cordon NODE'

export const command = defineCommand({
  usage,
  description: 'Marks nodes as unschedulable: no more pods are scheduled to them.',
  examples: `  # Mark a node as unschedulable
  kubectl cordon node-1`,
  flags: cordonFlags,
  async run({ args, flags, factory, streams }) {
    const nodes = await findNodes(factory, { args, selector: flags.selector, usage })
    await cordon(factory, { nodes, schedulable: false, dryRun: dryRunOf(flags['dry-run'], streams) })
  },
})
