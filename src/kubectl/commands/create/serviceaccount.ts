import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'

export const command = defineCommand({
  usage: 'serviceaccount NAME [--dry-run=server|client|none]',
  description: 'Creates a service account.',
  examples: `  # A service account
  kubectl create serviceaccount robot`,
  flags: createFlags,
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    await creator.create({
      resource: {
        group: '',
        version: 'v1',
        kind: 'ServiceAccount',
        plural: 'serviceaccounts',
        scope: 'Namespaced',
      },
      failure: 'failed to create serviceaccount:',
      content: {},
    })
  },
})
