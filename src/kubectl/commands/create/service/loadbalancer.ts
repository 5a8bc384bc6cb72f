import { defineCommand } from '../../../command.ts'
import { createFlags, ObjectCreator } from '../../../create/object-creator.ts'
import { planService, portsFlag } from '../../../create/service-content.ts'

export const command = defineCommand({
  usage: 'loadbalancer NAME [--tcp=port:targetPort] [--dry-run=server|client|none]',
  description: 'Creates a service that is reached through a load balancer.',
  examples: `  # A service
  kubectl create service loadbalancer web --tcp=80:8080`,
  flags: { ...createFlags, tcp: portsFlag },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    await creator.create(planService(creator, { type: 'LoadBalancer', ports: invocation.flags.tcp }))
  },
})
