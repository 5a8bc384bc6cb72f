import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, configFile, readConfig, showHelp } from '../../config/change-config.ts'

export const command: Command = defineCommand({
  usage: 'delete-context NAME',
  description: 'Deletes a context from the kubeconfig.',
  examples: `  # Delete context staging
  kubectl config delete-context staging`,
  flags: {},
  async run(invocation) {
    const { args, factory, streams } = invocation
    const [name] = args
    if (name === undefined || args.length > 1) return showHelp(command, invocation)
    const file = await configFile(factory)
    const kubeconfig = await readConfig(factory)
    if (!kubeconfig.contexts.has(name)) throw new Error(`cannot delete context ${name}, not in ${file}`)
    if (kubeconfig.currentContext === name) {
      streams.writeError(
        'warning: this removed your active context, use "kubectl config use-context" to select a different one\n',
      )
    }
    await changeConfig(factory, () => [{ section: 'contexts', name, value: undefined }])
    streams.write(`deleted context ${name} from ${file}\n`)
  },
})
