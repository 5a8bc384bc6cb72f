import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, requireArguments } from '../../config/change-config.ts'
import { planPropertyChange } from '../../config/property-change.ts'
import { boolFlag } from '../../flag-types.ts'

export const command: Command = defineCommand({
  usage: 'set PROPERTY_NAME PROPERTY_VALUE',
  description: `Sets a single value in the kubeconfig.

The property is a path of field names and names of entries, separated by dots. Binary values are in base64,
unless --set-raw-bytes is set.`,
  examples: `  # Set the server of a cluster
  kubectl config set clusters.staging.server https://1.2.3.4

  # Set the namespace of a context
  kubectl config set contexts.staging.namespace shop`,
  flags: { 'set-raw-bytes': boolFlag('The value is not in base64.') },
  async run(invocation) {
    await requireArguments(command, invocation, { count: 2 })
    const { args, flags, factory, streams } = invocation
    const [property = '', value = ''] = args
    const isRaw = flags['set-raw-bytes'] ?? false
    await changeConfig(factory, kubeconfig => planPropertyChange(kubeconfig, { property, value, isRaw }))
    streams.write(`Property ${JSON.stringify(property)} set.\n`)
  },
})
