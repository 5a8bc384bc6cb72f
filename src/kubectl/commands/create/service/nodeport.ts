import { defineCommand } from '../../../command.ts'
import { createFlags, ObjectCreator } from '../../../create/object-creator.ts'
import { planService, portsFlag } from '../../../create/service-content.ts'
import { intFlag } from '../../../flag-types.ts'

export const command = defineCommand({
  usage: 'nodeport NAME [--tcp=port:targetPort] [--dry-run=server|client|none]',
  description: 'Creates a service that is reached at a port of each node, too.',
  examples: `  # A service
  kubectl create service nodeport web --tcp=80:8080`,
  flags: {
    ...createFlags,
    'node-port': intFlag('The port of the nodes. By default the server chooses one.'),
    'tcp': portsFlag,
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { 'node-port': nodePort, 'tcp': ports } = invocation.flags
    await creator.create(planService(creator, { type: 'NodePort', ports, nodePort }))
  },
})
