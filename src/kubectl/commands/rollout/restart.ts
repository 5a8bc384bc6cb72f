import { formatTime } from '#/api/text/time.ts'
import { defineCommand } from '../../command.ts'
import {
  isAppsKind,
  isPaused,
  patchWorkloads,
  patchWorkloadsFlags,
  refusal,
} from '../../rollout/patch-workloads.ts'
import { templateIn } from '../../rollout/revision.ts'

const annotation = 'kubectl.kubernetes.io/restartedAt'

export const command = defineCommand({
  usage: 'restart RESOURCE',
  description: `Restarts the pods of workloads with a rollout.`,
  examples: `  # All deployments of a namespace
  kubectl rollout restart deployment -n shop

  # A deployment
  kubectl rollout restart deployment/web

  # A daemon set
  kubectl rollout restart daemonset/agent

  # The deployments with a label
  kubectl rollout restart deployment --selector=app=web`,
  flags: patchWorkloadsFlags,
  async run(invocation) {
    const time = formatTime(invocation.factory.machine.platform.clock.now())
    await patchWorkloads(invocation, {
      operation: 'restarted',
      patchOf(info) {
        if (!isAppsKind(info, ['Deployment', 'DaemonSet', 'StatefulSet'])) {
          return refusal(info, 'restarting is not supported')
        }
        if (isPaused(info)) return refusal(info, `can't restart paused deployment (run rollout resume first)`)
        // Times are in seconds.
        if (templateIn(info.object ?? {}).metadata?.annotations?.[annotation] === time) {
          return `failed to create patch for ${info.name}: ${tooSoon}`
        }
        return { spec: { template: { metadata: { annotations: { [annotation]: time } } } } }
      },
    })
  },
})

const tooSoon =
  'if restart has already been triggered within the past second, ' +
  'please wait before attempting to trigger another'
