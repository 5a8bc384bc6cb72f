import { defineCommand } from '../command.ts'
import { globalFlags } from '../global-flags.ts'
import { describeOptions } from '../help.ts'

export const command = defineCommand({
  usage: 'options',
  description: 'Lists the flags that all commands accept.',
  flags: {},
  async run({ factory, streams }) {
    const cacheFolder = { ...globalFlags['cache-dir'], shownDefault: `'${factory.cacheFolder()}'` }
    const flags = { ...globalFlags, 'cache-dir': cacheFolder }
    streams.write(`The following options can be passed to any command:\n\n${describeOptions(flags)}\n`)
  },
})
