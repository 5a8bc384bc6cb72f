import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, requireArguments } from '../../config/change-config.ts'
import { planPropertyChange } from '../../config/property-change.ts'

export const command: Command = defineCommand({
  usage: 'unset PROPERTY_NAME',
  description: `Removes a single value, or an entry, from the kubeconfig.

The property is a path of field names and names of entries, separated by dots.`,
  examples: `  # Remove the current context
  kubectl config unset current-context

  # Remove the namespace of a context
  kubectl config unset contexts.staging.namespace`,
  flags: {},
  async run(invocation) {
    await requireArguments(command, invocation, { count: 1 })
    const { args, factory, streams } = invocation
    const [property = ''] = args
    await changeConfig(factory, kubeconfig =>
      planPropertyChange(kubeconfig, { property, value: undefined, isRaw: false }),
    )
    streams.write(`Property ${JSON.stringify(property)} unset.\n`)
  },
})
