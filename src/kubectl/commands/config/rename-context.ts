import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, configFile, requireArguments } from '../../config/change-config.ts'

export const command: Command = defineCommand({
  usage: 'rename-context CONTEXT_NAME NEW_NAME',
  description: 'Renames a context of the kubeconfig, also as the current context.',
  examples: `  # Rename a context
  kubectl config rename-context old-name new-name`,
  flags: {},
  async run(invocation) {
    await requireArguments(command, invocation, { count: 2 })
    const { args, factory, streams } = invocation
    const [from = '', to = ''] = args
    const file = await configFile(factory)
    await changeConfig(factory, ({ contexts, currentContext }) => {
      const entry = contexts.get(from)
      const problem = `cannot rename the context ${JSON.stringify(from)}`
      if (entry === undefined) throw new Error(`${problem}, it's not in ${file}`)
      if (contexts.has(to)) {
        throw new Error(`${problem}, the context ${JSON.stringify(to)} already exists in ${file}`)
      }
      return [
        { section: 'contexts', name: to, value: entry.value, file: entry.file },
        { section: 'contexts', name: from, value: undefined },
        ...(currentContext === from ? [{ section: 'current-context', value: to } as const] : []),
      ]
    })
    streams.write(`Context ${JSON.stringify(from)} renamed to ${JSON.stringify(to)}.\n`)
  },
})
