import { defineCommand } from '../../command.ts'
import {
  isAppsKind,
  isPaused,
  patchWorkloads,
  patchWorkloadsFlags,
  refusal,
} from '../../rollout/patch-workloads.ts'

export const command = defineCommand({
  usage: 'resume RESOURCE',
  description: `Resumes paused deployments: changes since "kubectl rollout pause" take effect.`,
  examples: `  # Resume a paused deployment
  kubectl rollout resume deployment/web`,
  flags: patchWorkloadsFlags,
  async run(invocation) {
    await patchWorkloads(invocation, {
      operation: 'resumed',
      patchOf(info) {
        if (!isAppsKind(info, ['Deployment'])) return refusal(info, 'resuming is not supported')
        return isPaused(info) ? { spec: { paused: null } } : refusal(info, 'is not paused')
      },
    })
  },
})
