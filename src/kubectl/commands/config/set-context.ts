import type { FlagValues } from '#/base/flags.ts'
import type { ContextEntry } from '#/kubeconfig/kubeconfig.ts'
import { defineCommand, type Command } from '../../command.ts'
import { changeConfig, requireArguments } from '../../config/change-config.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'

const flags = {
  cluster: stringFlag('Name of the cluster.'),
  current: boolFlag('Modify the current context.'),
  namespace: stringFlag('Default namespace of the context.', { shorthand: 'n' }),
  user: stringFlag('Name of the user.'),
}

export const command: Command = defineCommand({
  usage: 'set-context [NAME | --current] [--cluster=NAME] [--user=NAME] [--namespace=NAMESPACE]',
  description: 'Adds a context to the kubeconfig, or changes fields of an existing one.',
  examples: `  # Set the namespace of the current context
  kubectl config set-context --current --namespace=shop

  # Add a context
  kubectl config set-context staging --cluster=staging --user=developer`,
  flags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    if (args.length > 1) await requireArguments(command, invocation, { count: 1 })
    if (flags.current && args.length > 0)
      throw new Error('you cannot specify both a context name and --current')
    if (!flags.current && !args[0]) throw new Error('you must specify a non-empty context name or --current')
    let name = ''
    let isNew = false
    await changeConfig(factory, ({ contexts, currentContext }) => {
      if (flags.current && currentContext === '') throw new Error('no current context is set')
      name = flags.current ? currentContext : args[0]!
      isNew = !contexts.has(name)
      return [{ section: 'contexts', name, value: changed(contexts.get(name)?.value, flags) }]
    })
    streams.write(`Context ${JSON.stringify(name)} ${isNew ? 'created' : 'modified'}.\n`)
  },
})

function changed(
  existing: ContextEntry = { cluster: '', user: '' },
  { cluster, user, namespace }: FlagValues<typeof flags>,
): ContextEntry {
  return {
    ...existing,
    ...(cluster !== undefined && { cluster }),
    ...(user !== undefined && { user }),
    ...(namespace !== undefined && { namespace }),
  }
}
