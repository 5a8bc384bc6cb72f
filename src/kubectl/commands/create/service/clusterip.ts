import { defineCommand } from '../../../command.ts'
import { createFlags, ObjectCreator } from '../../../create/object-creator.ts'
import { planService, portsFlag } from '../../../create/service-content.ts'
import { stringFlag } from '../../../flag-types.ts'

export const command = defineCommand({
  usage: 'clusterip NAME [--tcp=<port>:<targetPort>] [--dry-run=server|client|none]',
  description: 'Creates a service with an address inside the cluster.',
  examples: `  # A service
  kubectl create service clusterip web --tcp=80:8080

  # A headless service
  kubectl create service clusterip web --clusterip="None"`,
  flags: {
    ...createFlags,
    clusterip: stringFlag('Address of the service, or None for a headless service.'),
    tcp: portsFlag,
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { clusterip: clusterIP, tcp: ports } = invocation.flags
    await creator.create(planService(creator, { type: 'ClusterIP', ports, clusterIP }))
  },
})
