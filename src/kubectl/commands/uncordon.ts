import { defineCommand } from '../command.ts'
import { cordon, cordonFlags } from '../drain/cordon.ts'
import { findNodes } from '../drain/find-nodes.ts'
import { dryRunOf } from '../write-flags.ts'

const usage = 'uncordon NODE'

export const command = defineCommand({
  usage,
  description: 'Marks nodes as schedulable again.',
  examples: `  # Mark a node as schedulable
  kubectl uncordon node-1`,
  flags: cordonFlags,
  async run({ args, flags, factory, streams }) {
    const nodes = await findNodes(factory, { args, selector: flags.selector, usage })
    await cordon(factory, { nodes, schedulable: true, dryRun: dryRunOf(flags['dry-run'], streams) })
  },
})
