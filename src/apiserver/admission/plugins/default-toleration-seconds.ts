/**
 * Adds tolerations for not-ready and unreachable nodes, 300 seconds by default, to pods that do not set them.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#defaulttolerationseconds
 */
import type { Pod, Toleration } from '#/api/generated/core/v1.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import type { PluginContext, TolerationSeconds } from '../plugin-context.ts'
import { podWrites, withSpec } from './pod-spec.ts'

export function defaultTolerationSeconds({
  tolerationSeconds = fiveMinutes,
}: PluginContext): AdmissionPlugin {
  const defaults = [
    toleration('node.kubernetes.io/not-ready', tolerationSeconds.notReady),
    toleration('node.kubernetes.io/unreachable', tolerationSeconds.unreachable),
  ]
  return {
    name: 'DefaultTolerationSeconds',
    handles: podWrites(['CREATE', 'UPDATE']),
    mutate: ({ object }) => {
      const pod = object as Pod
      const tolerations = pod.spec?.tolerations ?? []
      const missing = defaults.filter(({ key }) => !tolerations.some(each => tolerates(each, key)))
      return missing.length === 0 ? pod : withSpec(pod, { tolerations: [...tolerations, ...missing] })
    },
  }
}

const fiveMinutes: TolerationSeconds = { notReady: 300, unreachable: 300 }

function toleration(key: string, tolerationSeconds: number): Toleration {
  return { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }
}

function tolerates({ key, effect }: Toleration, taint: string | undefined): boolean {
  return (!key || key === taint) && (!effect || effect === 'NoExecute')
}
