import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import { boolFlag, int32Flag, stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage: 'priorityclass NAME --value=VALUE --global-default=BOOL [--dry-run=server|client|none]',
  description: 'Creates a priority class.',
  examples: `  # A priority class
  kubectl create priorityclass high --value=1000 --description="high priority"

  # The priority of pods without a priority class
  kubectl create priorityclass default-priority --value=1000 --global-default=true

  # Pods with this priority preempt no others
  kubectl create priorityclass polite --value=1000 --preemption-policy="Never"`,
  flags: {
    ...createFlags,
    'description': stringFlag('When this priority class should be used.'),
    'global-default': boolFlag('This is the priority of pods without a priority class.'),
    'preemption-policy': stringFlag('PreemptLowerPriority or Never: whether its pods preempt others.', {
      shownDefault: `'PreemptLowerPriority'`,
    }),
    'value': int32Flag('The priority.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { description, 'global-default': globalDefault, value = 0 } = invocation.flags
    await creator.create({
      resource: {
        group: 'scheduling.k8s.io',
        version: 'v1',
        kind: 'PriorityClass',
        plural: 'priorityclasses',
        scope: 'Cluster',
      },
      failure: 'failed to create priorityclass:',
      content: {
        value,
        ...(globalDefault && { globalDefault }),
        ...(description && { description }),
        preemptionPolicy: invocation.flags['preemption-policy'] ?? 'PreemptLowerPriority',
      },
    })
  },
})
