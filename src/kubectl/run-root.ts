/** kubectl without one of its commands: its help, a plugin, or an unknown command. */
import { parseArgumentsAndFlags, UsageError } from '#/base/flags.ts'
import { firstArgument } from './choose-command.ts'
import { commands } from './command-table.ts'
import type { Machine } from './factory.ts'
import { globalFlags } from './global-flags.ts'
import { describeCommands, similarCommands } from './help.ts'
import { asksForHelp, runKubectl } from './kubectl.ts'

/** Resolves to the exit code. */
export async function runRoot(words: readonly string[], machine: Machine): Promise<number> {
  const { streams } = machine
  const name = firstArgument(words, globalFlags)
  if (name?.word === 'help') return helpOn(words.slice(name.index + 1), machine)
  if (name === undefined) return showRoot(words, machine)
  const [first = ''] = words
  if (first.startsWith('-')) {
    streams.stderr.write(`Error: flags cannot be placed before plugin name: ${first}\n`)
    return 1
  }
  const { runPlugin } = await import('./plugins.ts')
  const exitCode = await runPlugin(words, machine)
  if (exitCode !== undefined) return exitCode
  const similar = similarCommands(commands, name.word)
  streams.stderr.write(
    `error: unknown command ${JSON.stringify(name.word)} for "kubectl"\n${similar && `\n${similar}`}`,
  )
  return 1
}

/** `kubectl help rollout status`. */
async function helpOn(topic: readonly string[], machine: Machine): Promise<number> {
  const names = topic.filter(word => !word.startsWith('-'))
  const { streams } = machine
  const [name] = names
  if (name !== undefined && Object.hasOwn(commands, name)) return runKubectl([...names, '--help'], machine)
  const help = await describeCommands(commands, machine)
  if (name === undefined) streams.write(help)
  else {
    const topics = names.map(each => `\`${each}\``).join(' ')
    streams.stderr.write(`Unknown help topic [${topics}]\n\n${help}`)
  }
  return 0
}

async function showRoot(words: readonly string[], machine: Machine): Promise<number> {
  const { streams } = machine
  if (!asksForHelp(words)) {
    try {
      parseArgumentsAndFlags(words, globalFlags)
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      const { describeError } = await import('./errors.ts')
      streams.stderr.write(describeError(error, { commandPath: 'kubectl' }))
      return 1
    }
  }
  streams.write(await describeCommands(commands, machine))
  return 0
}
