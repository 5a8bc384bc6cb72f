import { defineCommand, findCommand, type Command } from '../command.ts'
import { commands } from '../command-table.ts'
import { boolFlag } from '../flag-types.ts'
import { listPlugins, type Plugin } from '../plugins.ts'

export const command: Command = {
  usage: 'plugin',
  description: `Lists plugins.

A plugin is an executable on the search path whose name begins with "kubectl-": kubectl-foo-bar is the command
"kubectl foo bar". A dash in the name of a command is an underscore in the name of the file. Plugins cannot replace
commands of kubectl.`,
  examples: `  # All plugins
  kubectl plugin list`,
  flags: {},
  subcommands: {
    list: { summary: 'List the plugins on the search path', load: async () => ({ command: list }) },
  },
}

const list = defineCommand({
  usage: 'list',
  description: `Lists the plugins on the search path, and warns of those that cannot be run.`,
  examples: `  # All plugins
  kubectl plugin list

  # Only their names
  kubectl plugin list --name-only`,
  flags: { 'name-only': boolFlag('Show names instead of paths.') },
  async run({ flags, factory, streams }) {
    const { plugins, unreadable } = await listPlugins(factory.machine)
    for (const { folder, reason } of unreadable) {
      streams.writeError(
        `Unable to read directory ${JSON.stringify(folder)} from your PATH: ${reason}. Skipping...\n`,
      )
    }
    if (plugins.length === 0) throw new Error('unable to find any kubectl plugins in your PATH')
    streams.write('The following compatible plugins are available:\n\n')
    const seen = new Map<string, string>()
    let warnings = 0
    for (const plugin of plugins) {
      streams.write(`${flags['name-only'] ? plugin.name : plugin.path}\n`)
      for (const warning of await warningsOf(plugin, seen.get(plugin.name))) {
        streams.writeError(`  - warning: ${warning}\n`)
        warnings++
      }
      seen.getOrInsertComputed(plugin.name, () => plugin.path)
    }
    if (warnings === 0) return
    const found = warnings === 1 ? 'one plugin warning was' : `${warnings} plugin warnings were`
    throw new Error(`${found} found`)
  },
})

async function warningsOf(
  { path, name, isExecutable }: Plugin,
  shadowedBy: string | undefined,
): Promise<readonly string[]> {
  const overwritten = await builtInCommand(name)
  return [
    ...(isExecutable ? [] : [`${path} identified as a kubectl plugin, but it is not executable`]),
    ...(shadowedBy === undefined
      ? []
      : [`${path} is overshadowed by a similarly named plugin: ${shadowedBy}`]),
    ...(overwritten === undefined ? [] : [`${name} overwrites existing command: "${overwritten}"`]),
  ]
}

/** The command that is found for the name of a plugin; a command is also found with arguments after it. */
async function builtInCommand(plugin: string): Promise<string | undefined> {
  const found = ['kubectl']
  let table = commands
  for (const name of plugin.split('-').slice(1)) {
    const entry = findCommand(table, name)
    if (entry === undefined) break
    found.push(Object.keys(table).find(each => table[each] === entry)!)
    table = (await entry.load()).command.subcommands ?? {}
  }
  return found.length > 1 ? found.join(' ') : undefined
}
