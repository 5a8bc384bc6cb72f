import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'

export const command = defineCommand({
  usage: 'namespace NAME [--dry-run=server|client|none]',
  description: 'Creates a namespace.',
  examples: `  # A namespace
  kubectl create namespace shop`,
  flags: createFlags,
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    await creator.create({
      resource: { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', scope: 'Cluster' },
      content: { spec: {}, status: {} },
    })
  },
})
