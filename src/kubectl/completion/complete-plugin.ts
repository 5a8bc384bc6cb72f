import type { Machine } from '../factory.ts'
import { commandNames, findExecutable, listPlugins, pluginName } from '../plugins.ts'
import { directives, type Completion } from './completion.ts'

interface PluginRequest {
  readonly words: readonly string[]
  readonly last: string
  readonly machine: Machine
}

const outputBytesMax = 1_000_000

/**
 * Names of plugins after a name, and the arguments of a plugin, which a program `kubectl_complete-NAME` prints.
 * Undefined if the words name no plugin.
 */
export async function completePlugin({
  words,
  last,
  machine,
}: PluginRequest): Promise<Completion | undefined> {
  if (words.length === 0 || words[0]!.startsWith('-')) return undefined
  const names = words.filter(word => !word.startsWith('-'))
  const { plugins } = await listPlugins(machine)
  const paths = plugins.map(({ name }) => commandNames(name))
  const matching = paths.filter(path => names.every((name, index) => path[index] === name))
  const next = matching.map(path => path[names.length]).filter(name => name !== undefined)
  const candidates = [...new Set(next)].filter(name => name.startsWith(last))
  const described = candidates.map(name => `${name}\tThe command ${name} is a plugin installed by the user`)
  if (described.length > 0) return { candidates: described, directive: directives.default }
  for (let count = names.length; count > 0; count--) {
    if (!paths.some(path => path.join(' ') === names.slice(0, count).join(' '))) continue
    return runCompletion({ name: names.slice(0, count), parameters: [...words.slice(count), last], machine })
  }
  return undefined
}

interface PluginCall {
  readonly name: readonly string[]
  readonly parameters: readonly string[]
  readonly machine: Machine
}

async function runCompletion({ name, parameters, machine }: PluginCall): Promise<Completion> {
  const program = pluginName(name).replace('-', '_complete-')
  const path = await findExecutable(program, machine)
  if (path === undefined) return { candidates: [], directive: directives.default }
  const { output, status } = await machine.streams.runInteractive([path, ...parameters], {
    capture: { sizeBytesMax: outputBytesMax },
  })
  if (status !== 0) return { candidates: [], directive: directives.default }
  const lines = Buffer.from(output)
    .toString()
    .split('\n')
    .filter(line => line !== '')
  const [, directive] = /^:(\d+)$/.exec(lines.at(-1) ?? '') ?? []
  return directive === undefined
    ? { candidates: lines, directive: directives.default }
    : { candidates: lines.slice(0, -1), directive: Number(directive) }
}
