import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, configFile, readConfig, showHelp } from '../../config/change-config.ts'

export const command: Command = defineCommand({
  usage: 'delete-cluster NAME',
  description: 'Deletes a cluster from the kubeconfig.',
  examples: `  # Delete cluster staging
  kubectl config delete-cluster staging`,
  flags: {},
  async run(invocation) {
    const { args, factory, streams } = invocation
    const [name] = args
    if (name === undefined || args.length > 1) return showHelp(command, invocation)
    const file = await configFile(factory)
    const kubeconfig = await readConfig(factory)
    if (!kubeconfig.clusters.has(name)) throw new Error(`cannot delete cluster ${name}, not in ${file}`)
    await changeConfig(factory, () => [{ section: 'clusters', name, value: undefined }])
    streams.write(`deleted cluster ${name} from ${file}\n`)
  },
})
