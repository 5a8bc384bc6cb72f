import { defineCommand } from '../../command.ts'
import { readConfig } from '../../config/change-config.ts'

export const command = defineCommand({
  usage: 'current-context',
  description: 'Shows the name of the current context.',
  examples: `  # The current context
  kubectl config current-context`,
  flags: {},
  async run({ factory, streams }) {
    const { currentContext } = await readConfig(factory)
    if (currentContext === '') throw new Error('current-context is not set')
    streams.write(`${currentContext}\n`)
  },
})
