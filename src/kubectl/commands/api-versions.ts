import { defineCommand } from '../command.ts'
import { CommandUsageError } from '../errors.ts'

export const command = defineCommand({
  usage: 'api-versions',
  description: 'Lists the API versions of the server, in the form "group/version".',
  examples: `  # All API versions
  kubectl api-versions`,
  flags: {},
  async run({ args, factory, streams }) {
    if (args.length > 0) throw new CommandUsageError(`unexpected arguments: [${args.join(' ')}]`)
    const { discovery } = await factory.restMapper()
    discovery.invalidate()
    const groups = await discovery.groups()
    const versions = groups.flatMap(group => group.versions.map(({ groupVersion }) => groupVersion))
    for (const version of versions.toSorted((a, b) => (a < b ? -1 : 1))) streams.write(`${version}\n`)
  },
})
