import { defineCommand, type Command } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { changeConfig, configFile, readConfig, showHelp } from './change-config.ts'

/** The entries of a kubeconfig, by what a command calls one of them. */
const sections = { cluster: 'clusters', context: 'contexts', user: 'users' } as const

type EntryType = keyof typeof sections

/** `config delete-cluster`, `delete-context`, `delete-user`. */
export function deleteEntryCommand(type: EntryType): Command {
  const section = sections[type]
  const command: Command = defineCommand({
    usage: `delete-${type} NAME`,
    description: `Deletes a ${type} from the kubeconfig.`,
    examples: `  # Delete a ${type}\n  kubectl config delete-${type} staging`,
    flags: {},
    async run(invocation) {
      const { args, factory, streams } = invocation
      const [name, ...more] = args
      // As upstream, which checks the arguments of one of the three commands in another way.
      if (type === 'user' && name === undefined) throw new CommandUsageError('user to delete is required')
      if (name === undefined || (type !== 'user' && more.length > 0)) return showHelp(command, invocation)
      const file = await configFile(factory)
      const kubeconfig = await readConfig(factory)
      if (!kubeconfig[section].has(name)) throw new Error(`cannot delete ${type} ${name}, not in ${file}`)
      if (type === 'context' && kubeconfig.currentContext === name) streams.writeError(activeContextWarning)
      await changeConfig(factory, () => [{ section, name, value: undefined }])
      streams.write(`deleted ${type} ${name} from ${file}\n`)
    },
  })
  return command
}

const activeContextWarning =
  'warning: this removed your active context, use "kubectl config use-context" to select a different one\n'

/** `config get-clusters`, `get-users`. */
export function listEntriesCommand(type: EntryType): Command {
  const section = sections[type]
  return defineCommand({
    usage: `get-${section}`,
    description: `Lists the ${section} in the kubeconfig.`,
    examples: `  # The ${section} in the kubeconfig\n  kubectl config get-${section}`,
    flags: {},
    async run({ factory, streams }) {
      const names = [...(await readConfig(factory))[section].keys()].sort()
      streams.write(['NAME', ...names].map(name => `${name}\n`).join(''))
    },
  })
}
