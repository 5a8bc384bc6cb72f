import { checkDns1123Subdomain } from '#/api/names.ts'
import { defineCommand } from '../../../command.ts'
import { createFlags, ObjectCreator } from '../../../create/object-creator.ts'
import { planService, portsFlag } from '../../../create/service-content.ts'
import { stringFlag } from '../../../flag-types.ts'

export const command = defineCommand({
  usage: 'externalname NAME --external-name external.name [--dry-run=server|client|none]',
  description: 'Creates a service that is an alias of a DNS name outside of the cluster.',
  examples: `  # A service
  kubectl create service externalname database --external-name db.example.com`,
  flags: {
    ...createFlags,
    'external-name': stringFlag('The DNS name.', { required: true }),
    'tcp': portsFlag,
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { 'external-name': externalName = '', 'tcp': ports } = invocation.flags
    if (checkDns1123Subdomain(externalName).length > 0) {
      throw new Error(`invalid service external name ${externalName}`)
    }
    await creator.create(planService(creator, { type: 'ExternalName', ports, externalName }))
  },
})
