import { defineCommand } from '../command.ts'

const subcommands = {
  approve: {
    summary: 'Approve a certificate signing request',
    load: () => import('./certificate/approve.ts'),
  },
  deny: { summary: 'Deny a certificate signing request', load: () => import('./certificate/deny.ts') },
}

const description = 'Approves and denies certificate signing requests.'

export const command = defineCommand({
  usage: 'certificate SUBCOMMAND',
  description,
  flags: {},
  subcommands,
  /** Upstream's command shows its help, whatever the arguments are. */
  async run({ commandPath, streams }) {
    const { describeCommand } = await import('../help.ts')
    const shown = { usage: 'certificate SUBCOMMAND', description, flags: {}, subcommands }
    streams.write(describeCommand(shown, { path: commandPath.split(' '), aliases: [] }))
  },
})
