import { defineCommand } from '../../command.ts'
import { readConfig } from '../../config/change-config.ts'

export const command = defineCommand({
  usage: 'get-clusters',
  description: 'Lists the clusters in the kubeconfig.',
  examples: `  # The clusters in the kubeconfig
  kubectl config get-clusters`,
  flags: {},
  async run({ factory, streams }) {
    const { clusters } = await readConfig(factory)
    streams.write(['NAME', ...[...clusters.keys()].sort()].map(name => `${name}\n`).join(''))
  },
})
