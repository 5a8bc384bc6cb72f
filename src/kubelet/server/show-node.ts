/** Serves pods, health and configuration of the node. */
import { formatDurationMs } from '#/api/text/duration.ts'
import { podOfLabels } from '../container-labels.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { respondJson, respondText } from './responses.ts'
import type { ServerRequest, SharedRequest } from './routes.ts'

export function showPods({ exchange, view }: SharedRequest): void {
  respondJson(exchange, podList(view.pods()))
}

/** Pods as seen by the runtime, regardless of the assigned ones. */
export async function showRunningPods({ exchange, runtime }: ServerRequest): Promise<void> {
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()])
  const pods = sandboxes.flatMap(({ id, state, labels }): KubeletPod[] => {
    const pod = podOfLabels(labels)
    if (state !== 'ready' || pod === undefined) return []
    const { name, namespace, uid } = pod
    const running = containers.filter(each => each.sandboxId === id && each.state === 'running')
    return [
      {
        metadata: { name, namespace, uid },
        spec: { containers: running.map(({ name: container, image }) => ({ name: container, image })) },
      },
    ]
  })
  respondJson(exchange, podList(pods))
}

function podList(pods: readonly KubeletPod[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: pods }
}

/** The passes of components that write nothing to the API, after the given milliseconds since 1970. */
export function showPasses({ exchange, query, passes }: ServerRequest): void {
  const afterMs = Number(query.get('after') ?? 0)
  if (!Number.isFinite(afterMs)) return respondText(exchange, 400, 'invalid value of parameter after\n')
  respondJson(exchange, { passes: passes?.list(afterMs) ?? [] })
}

export function showHealth({ exchange, view, query, parameters, metrics }: SharedRequest): void {
  const problem = view.problem()
  metrics.health.observe('healthz', 'ping', true)
  metrics.health.observe('healthz', 'syncloop', problem === undefined)
  if (problem === undefined && !query.has('verbose')) return respondText(exchange, 200, 'ok')
  const isAsked = parameters['check'] === undefined || parameters['check'] === 'syncloop'
  const lines = [
    '[+]ping ok',
    problem === undefined || !isAsked ? '[+]syncloop ok' : '[-]syncloop failed: reason withheld',
    problem === undefined || !isAsked ? 'healthz check passed' : 'healthz check failed',
  ]
  respondText(exchange, problem === undefined || !isAsked ? 200 : 500, `${lines.join('\n')}\n`)
}

/** The fields of KubeletConfiguration that are used here. */
export function showConfiguration({ exchange, node }: ServerRequest): void {
  const { imageGc, containerLog } = node
  respondJson(exchange, {
    kubeletconfig: {
      address: node.serverAddress ?? node.addresses[0],
      port: node.kubeletPort,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
      authorization: { mode: 'Webhook' },
      cgroupDriver: 'cgroupfs',
      cgroupRoot: node.cgroupRoot,
      clusterDNS: node.clusterDNS,
      clusterDomain: node.clusterDomain,
      containerLogMaxFiles: containerLog.maxFiles,
      containerLogMaxSize: String(containerLog.maxBytes),
      imageGCHighThresholdPercent: imageGc.highPercent,
      imageGCLowThresholdPercent: imageGc.lowPercent,
      imageMinimumGCAge: `${imageGc.minimumAgeMs / 1_000}s`,
      maxPods: node.podsMax,
      podPidsLimit: node.podPidsMax,
      resolvConf: node.resolvConf,
      runtimeRequestTimeout: formatDurationMs(node.runtimeRequestTimeoutMs),
      seccompDefault: node.seccompDefault,
      streamingConnectionIdleTimeout: formatDurationMs(node.streamingConnectionIdleTimeoutMs),
      allowedUnsafeSysctls: node.allowedUnsafeSysctls,
      systemReserved: node.systemReserved,
    },
  })
}
