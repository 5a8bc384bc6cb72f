/**
 * kubectl: dispatches a command line to its command and reports errors as upstream does. Code is loaded as it is
 * needed, since the time to start dominates that of most commands.
 */
import { parseArgumentsAndFlags, type Flags } from '#/base/flags.ts'
import { chooseCommand } from './choose-command.ts'
import type { Command } from './command.ts'
import { Factory, type Machine } from './factory.ts'
import type { KubectlFlag } from './flag-types.ts'
import { globalFlags, type GlobalFlags } from './global-flags.ts'

/** Runs a command line, without the name of the program. Resolves to the exit code. */
export async function runKubectl(given: readonly string[], real: Machine): Promise<number> {
  if (given[0] === '__complete' || given[0] === '__completeNoDesc') return runCompletion(given, real)
  const preferred = await withPreferences(given, real)
  if (preferred === undefined) return 1
  const { words, machine } = preferred
  const chosen = chooseCommand(words)
  if (chosen === undefined) {
    const { runRoot } = await import('./run-root.ts')
    return runRoot(words, machine)
  }
  const { entry, path, rest } = chosen
  if (path === 'create') {
    const { runSubcommandPlugin } = await import('./plugins.ts')
    const exitCode = await runSubcommandPlugin(path, given, real)
    if (exitCode !== undefined) return exitCode
  }
  const { command } = await entry.load()
  return runCommand({ command, aliases: [], path: ['kubectl', path], rest }, machine)
}

/** For the scripts of shells: candidates without errors, and the directive as the last line. */
async function runCompletion([name, ...words]: readonly string[], machine: Machine): Promise<number> {
  const { complete } = await import('./completion/complete.ts')
  const { defaultCompletion } = await import('./completion/completion.ts')
  const { candidates, directive } = await complete(words, machine).catch(() => defaultCompletion)
  const shown = name === '__complete' ? candidates : candidates.map(each => each.replace(/\t.*$/, ''))
  machine.streams.write([...shown, `:${directive}`].map(line => `${line}\n`).join(''))
  return 0
}

interface PreferredCommand {
  readonly words: readonly string[]
  readonly machine: Machine
}

/** The command line with the preferences of the user. Undefined if they are invalid, which is reported. */
async function withPreferences(
  words: readonly string[],
  machine: Machine,
): Promise<PreferredCommand | undefined> {
  if (/^false$/i.test(machine.environment['KUBECTL_KUBERC'] ?? '') || words.length === 0)
    return { words, machine }
  try {
    const { loadPreference } = await import('./kuberc/load-preference.ts')
    const preference = await loadPreference(words, machine)
    if (preference === undefined) return { words, machine }
    const { applyPreference } = await import('./kuberc/apply-preference.ts')
    return await applyPreference(preference, { words, machine })
  } catch (error) {
    const { messageOf } = await import('#/base/message-of.ts')
    machine.streams.stderr.write(`error occurred while applying preferences ${messageOf(error)}\n`)
    return undefined
  }
}

interface ChosenCommand {
  readonly command: Command
  readonly aliases: readonly string[]
  /** `kubectl`, `rollout`, `status`. */
  readonly path: readonly string[]
  readonly rest: readonly string[]
}

/** Runs a command that need not be one of kubectl's. Resolves to the exit code. */
export async function runCommand(chosen: ChosenCommand, machine: Machine): Promise<number> {
  const { command, path, rest } = chosen
  const { subcommands, flags } = command
  const next = subcommands && chooseCommand(rest, { table: subcommands, flags: { ...globalFlags, ...flags } })
  if (next !== undefined) {
    const { command: subcommand } = await next.entry.load()
    const { aliases = [] } = next.entry
    return runCommand({ command: subcommand, aliases, path: [...path, next.path], rest: next.rest }, machine)
  }
  const { streams } = machine
  const commandPath = path.join(' ')
  if (asksForHelp(rest)) return showHelp(chosen, machine)
  let factory: Factory | undefined
  try {
    const {
      words: args,
      dashIndex,
      values,
      texts,
    } = parseArgumentsAndFlags(rest, { ...globalFlags, ...command.flags })
    warnOfDeprecated(command.flags, values, machine)
    if (!command.run) return await missingSubcommand(chosen, { args, machine })
    requireFlags(command.flags, values)
    factory = new Factory(machine, globalValues(values, command.flags))
    const exitCode = await command.run({
      args,
      ...(dashIndex !== undefined && { dashIndex }),
      flags: values,
      flagTexts: texts,
      factory,
      streams,
      commandPath,
    })
    return factory.globalFlags['warnings-as-errors'] && factory.warnings > 0
      ? await failForWarnings(factory)
      : (exitCode ?? 0)
  } catch (error) {
    const { describeError, exitCodeOf, outputBefore } = await import('./errors.ts')
    streams.write(outputBefore(error))
    const server = await factory?.server()
    const { errorExitCode } = command
    streams.stderr.write(describeError(error, { commandPath, server, errorExitCode }))
    return exitCodeOf(error, errorExitCode)
  } finally {
    await factory?.[Symbol.asyncDispose]()
  }
}

/** A command may have flags with the names of global ones: `--user` of `create rolebinding`. */
function globalValues(values: GlobalFlags, flags: Flags): GlobalFlags {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !Object.hasOwn(flags, name)))
}

async function failForWarnings({ warnings, machine }: Factory): Promise<number> {
  const plural = warnings === 1 ? 'warning' : 'warnings'
  machine.streams.stderr.write(`error: ${warnings} ${plural} received\n`)
  return 1
}

function requireFlags(flags: Flags, values: object): void {
  const missing = Object.entries(flags)
    .filter(([name, flag]) => (flag as KubectlFlag<unknown>).required && !(name in values))
    .map(([name]) => JSON.stringify(name))
  if (missing.length > 0) throw new Error(`required flag(s) ${missing.join(', ')} not set`)
}

function warnOfDeprecated(flags: Flags, values: object, { streams }: Machine): void {
  for (const name of Object.keys(values)) {
    const { deprecated } = (flags[name] ?? {}) as Partial<KubectlFlag<unknown>>
    if (deprecated) streams.stderr.write(`Flag --${name} has been deprecated, ${deprecated}\n`)
  }
}

async function showHelp({ command, aliases, path }: ChosenCommand, { streams }: Machine): Promise<number> {
  const { describeCommand } = await import('./help.ts')
  streams.write(describeCommand(command, { path, aliases }))
  return 0
}

interface UnknownSubcommand {
  readonly args: readonly string[]
  readonly machine: Machine
}

async function missingSubcommand(
  chosen: ChosenCommand,
  { args, machine }: UnknownSubcommand,
): Promise<number> {
  const [word] = args
  if (word === undefined) {
    await showHelp(chosen, machine)
    return 1
  }
  const { similarCommands } = await import('./help.ts')
  machine.streams.stderr.write(
    `error: unknown command ${JSON.stringify(args.join(' '))}\n` +
      `See '${chosen.path.join(' ')} -h' for help and examples\n` +
      similarCommands(chosen.command.subcommands ?? {}, word),
  )
  return 1
}

/** True if the help is asked for, and not by the command after `--`. */
export function asksForHelp(words: readonly string[]): boolean {
  const dash = words.indexOf('--')
  const own = dash === -1 ? words : words.slice(0, dash)
  return own.includes('--help') || own.includes('-h')
}
