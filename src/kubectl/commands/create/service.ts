import type { Command } from '../../command.ts'

export const command: Command = {
  usage: 'service',
  description: 'Creates a service of one of these types.',
  flags: {},
  subcommands: {
    clusterip: {
      summary: 'Create a ClusterIP service',
      load: () => import('./service/clusterip.ts'),
    },
    externalname: {
      summary: 'Create an ExternalName service',
      load: () => import('./service/externalname.ts'),
    },
    loadbalancer: {
      summary: 'Create a LoadBalancer service',
      load: () => import('./service/loadbalancer.ts'),
    },
    nodeport: {
      summary: 'Create a NodePort service',
      load: () => import('./service/nodeport.ts'),
    },
  },
}
