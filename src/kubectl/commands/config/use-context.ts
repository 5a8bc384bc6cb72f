import { closestWord } from '../../closest-word.ts'
import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, requireArguments } from '../../config/change-config.ts'

export const command: Command = defineCommand({
  usage: 'use-context CONTEXT_NAME',
  description: 'Sets the current context of the kubeconfig.',
  examples: `  # Use the context of another cluster
  kubectl config use-context staging`,
  flags: {},
  async run(invocation) {
    await requireArguments(command, invocation, { count: 1 })
    const { args, factory, streams } = invocation
    const [name = ''] = args
    await changeConfig(factory, ({ contexts }) => {
      if (!contexts.has(name)) throw unknownContext(name, [...contexts.keys()])
      return [{ section: 'current-context', value: name }]
    })
    streams.write(`Switched to context ${JSON.stringify(name)}.\n`)
  },
})

function unknownContext(name: string, known: readonly string[]): Error {
  const closest = closestWord(name, known)
  const hint = closest === undefined ? '' : `\nDid you mean ${JSON.stringify(closest)}?`
  return new Error(`no context exists with the name: ${JSON.stringify(name)}${hint}`)
}
