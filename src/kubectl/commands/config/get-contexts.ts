import { defineCommand } from '../../command.ts'
import { readConfig } from '../../config/change-config.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { tableWidths, TabWriter } from '../../printers/tab-writer.ts'

export const command = defineCommand({
  usage: 'get-contexts [(-o|--output=)name]',
  description: 'Lists the contexts in the kubeconfig, or those with the given names.',
  examples: `  # All contexts
  kubectl config get-contexts

  # Only their names
  kubectl config get-contexts -o name`,
  flags: {
    'no-headers': boolFlag('Omit the header.'),
    'output': stringFlag('Output format: name.', { shorthand: 'o' }),
  },
  async run({ args, flags, factory, streams }) {
    const { contexts, currentContext } = await readConfig(factory)
    const output = flags.output ?? ''
    if (output !== '' && output !== 'name') {
      throw new Error(
        `--output ${output} is not available in kubectl config get-contexts; resetting to default output format`,
      )
    }
    const names = [...(args.length > 0 ? args : contexts.keys())].sort()
    const found = names.filter(name => contexts.has(name))
    if (output === 'name') streams.write(found.map(name => `${name}\n`).join(''))
    else {
      const writer = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
      if (!flags['no-headers']) writer.write('CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE\n')
      for (const name of found) {
        const { cluster = '', user = '', namespace = '' } = contexts.get(name)!.value
        writer.write(`${[name === currentContext ? '*' : '', name, cluster, user, namespace].join('\t')}\n`)
      }
      writer.flush()
    }
    const missing = names
      .filter(name => !contexts.has(name))
      .map(name => new Error(`context ${name} not found`))
    if (missing.length === 1) throw missing[0]
    if (missing.length > 1) throw new AggregateError(missing)
  },
})
