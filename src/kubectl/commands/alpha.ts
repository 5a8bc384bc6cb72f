import { defineCommand } from '../command.ts'

export const command = defineCommand({
  usage: 'alpha',
  description: 'Commands for features in alpha. This version has none.',
  flags: {},
  async run({ streams }) {
    streams.stderr.write('No alpha commands are available in this version of kubectl\n')
  },
})
