import { defineCommand } from '../../command.ts'
import {
  isAppsKind,
  isPaused,
  patchWorkloads,
  patchWorkloadsFlags,
  refusal,
} from '../../rollout/patch-workloads.ts'

export const command = defineCommand({
  usage: 'pause RESOURCE',
  description: `Pauses deployments. Changes of a paused deployment have no effect until "kubectl rollout
resume"; its pods keep running. Only deployments can be paused.`,
  examples: `  # Pause a deployment
  kubectl rollout pause deployment/web`,
  flags: patchWorkloadsFlags,
  async run(invocation) {
    await patchWorkloads(invocation, {
      operation: 'paused',
      patchOf(info) {
        if (!isAppsKind(info, ['Deployment'])) return refusal(info, 'pausing is not supported')
        return isPaused(info) ? refusal(info, 'is already paused') : { spec: { paused: true } }
      },
    })
  },
})
