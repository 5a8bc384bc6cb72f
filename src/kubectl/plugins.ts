/** Plugins: executables named `kubectl-NAME` on the search path, which add commands to kubectl. */
import { resolve } from 'node:path'
import { commands, pluginGroup, type CommandEntry, type CommandTable } from './command-table.ts'
import type { Machine } from './factory.ts'

/** A file on the search path whose name makes it a plugin. */
export interface Plugin {
  readonly path: string
  /** File name: `kubectl-foo-bar`. */
  readonly name: string
  readonly isExecutable: boolean
}

export interface UnreadableFolder {
  readonly folder: string
  readonly reason: string
}

const pluginPrefix = 'kubectl-'

/**
 * Runs the plugin with the longest matching name, with the remaining words as its parameters. Undefined if there is
 * none.
 */
export async function runPlugin(
  words: readonly string[],
  machine: Machine,
  { namesMin = 1 }: { readonly namesMin?: number } = {},
): Promise<number | undefined> {
  const flag = words.findIndex(word => word.startsWith('-'))
  const names = flag === -1 ? words : words.slice(0, flag)
  for (let count = names.length; count >= namesMin; count--) {
    const path = await findExecutable(pluginName(names.slice(0, count)), machine)
    if (path === undefined) continue
    const { status } = await machine.streams.runInteractive([path, ...words.slice(count)])
    return status
  }
  return undefined
}

/** Runs a plugin that adds a subcommand to a command: `kubectl-create-foo`. Undefined if there is none. */
export async function runSubcommandPlugin(
  command: string,
  words: readonly string[],
  machine: Machine,
): Promise<number | undefined> {
  const [first, name = '-'] = words
  if (first !== command || name.startsWith('-')) return undefined
  const { subcommands = {} } = (await commands[command]!.load()).command
  return Object.hasOwn(subcommands, name) ? undefined : runPlugin(words, machine, { namesMin: 2 })
}

/** `kubectl foo-bar` is the file `kubectl-foo_bar`, and `kubectl foo bar` is `kubectl-foo-bar`. */
export function pluginName(names: readonly string[]): string {
  return `${pluginPrefix}${names.map(each => each.replaceAll('-', '_')).join('-')}`
}

/** The path of an executable file on the search path. */
export async function findExecutable(name: string, machine: Machine): Promise<string | undefined> {
  if (name.includes('/') || name.includes('\0')) return undefined
  for (const folder of searchPath(machine)) {
    const path = `${folder}/${name}`
    const status = await machine.platform.files.stat(path).catch(() => undefined)
    if (status?.isFile && (status.mode & 0o111) !== 0) return path
  }
  return undefined
}

/** The first names of all plugins, as commands for the help. They cannot be loaded. */
export async function pluginCommands(machine: Machine): Promise<CommandTable> {
  const { plugins } = await listPlugins(machine)
  const names = plugins.map(({ name }) => commandNames(name)[0]!)
  const added = names.filter(name => !Object.hasOwn(commands, name)).map(name => [name, pluginEntry(name)])
  return Object.fromEntries(added) as CommandTable
}

function pluginEntry(name: string): CommandEntry {
  return {
    summary: `The command ${name} is a plugin installed by the user`,
    group: pluginGroup,
    load: () => Promise.reject(new Error(`${name} is a plugin`)),
  }
}

/** `kubectl-foo_bar-baz` is `foo-bar baz` on the command line. */
export function commandNames(plugin: string): readonly string[] {
  return plugin
    .slice(pluginPrefix.length)
    .split('-')
    .map(each => each.replaceAll('_', '-'))
}

/** All plugins, in the order of the search path. Folders that cannot be read are reported. */
export async function listPlugins(
  machine: Machine,
): Promise<{ readonly plugins: readonly Plugin[]; readonly unreadable: readonly UnreadableFolder[] }> {
  const { files } = machine.platform
  const plugins: Plugin[] = []
  const unreadable: UnreadableFolder[] = []
  for (const folder of searchPath(machine)) {
    const names = await files.list(folder).catch((error: unknown) => {
      unreadable.push({ folder, reason: reasonOf(error, folder) })
      return []
    })
    for (const name of names.filter(each => each.startsWith(pluginPrefix))) {
      const path = `${folder}/${name}`
      const status = await files.stat(path)
      if (status !== undefined && !status.isFolder) {
        plugins.push({ path, name, isExecutable: (status.mode & 0o111) !== 0 })
      }
    }
  }
  return { plugins, unreadable }
}

function searchPath({ environment, workingFolder }: Machine): readonly string[] {
  const folders = (environment['PATH'] ?? '').split(':').filter(folder => folder.trim() !== '')
  return [...new Set(folders.map(folder => resolve(workingFolder, folder)))]
}

function reasonOf(error: unknown, folder: string): string {
  const { code } = error as { readonly code?: unknown }
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'no such file or directory',
    ENOTDIR: 'not a directory',
    EACCES: 'permission denied',
  }
  return `open ${folder}: ${reasons[String(code)] ?? String(code)}`
}
