import { defineCommand } from '../../command.ts'
import { changeConfig, configFile, readConfig } from '../../config/change-config.ts'
import { CommandUsageError } from '../../errors.ts'

export const command = defineCommand({
  usage: 'delete-user NAME',
  description: 'Deletes a user from the kubeconfig.',
  examples: `  # Delete user developer
  kubectl config delete-user developer`,
  flags: {},
  async run({ args, factory, streams }) {
    const [name] = args
    if (name === undefined) throw new CommandUsageError('user to delete is required')
    const file = await configFile(factory)
    const kubeconfig = await readConfig(factory)
    if (!kubeconfig.users.has(name)) throw new Error(`cannot delete user ${name}, not in ${file}`)
    await changeConfig(factory, () => [{ section: 'users', name, value: undefined }])
    streams.write(`deleted user ${name} from ${file}\n`)
  },
})
