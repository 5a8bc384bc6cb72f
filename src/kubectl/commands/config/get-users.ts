import { defineCommand } from '../../command.ts'
import { readConfig } from '../../config/change-config.ts'

export const command = defineCommand({
  usage: 'get-users',
  description: 'Lists the users in the kubeconfig.',
  examples: `  # The users in the kubeconfig
  kubectl config get-users`,
  flags: {},
  async run({ factory, streams }) {
    const { users } = await readConfig(factory)
    streams.write(['NAME', ...[...users.keys()].sort()].map(name => `${name}\n`).join(''))
  },
})
