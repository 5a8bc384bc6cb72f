/**
 * Translates a pod spec to CRI sandbox and container configurations. It only decides: the caller prepares
 * volumes and mounted files first (`pod-hosts-file.ts`, `pod-paths.ts`). Requests that cannot be fulfilled
 * throw ContainerConfigError, with the reason and message for the container status.
 */
import { messageOf } from '#/base/message-of.ts'
import type { ContainerConfig, SandboxConfig } from '#/cri/cri.ts'
import { environmentOf, expandCommand } from './container-config/environment.ts'
import { devicesOf, mountsOf } from './container-config/mounts.ts'
import { containerResources, overheadResources, sandboxResources } from './container-config/resources.ts'
import { containerSecurity, sandboxSecurity } from './container-config/security.ts'
import type { ContainerInput, SandboxContext } from './container-input.ts'
import { containerAnnotations, containerLabels, sandboxLabels } from './container-labels.ts'
import { hostPortsOf } from './host-ports.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { podDns, type PodWarning } from './pod-dns.ts'
import { kernelHostname, podHostname } from './pod-hostname.ts'
import { containerLogPath, podCgroup, podLogFolder } from './pod-paths.ts'
import { sysctlsOf } from './pod-sysctls.ts'

export type ContainerConfigErrorReason = 'CreateContainerConfigError' | 'CreatePodSandboxError'

export class ContainerConfigError extends Error {
  readonly reason: ContainerConfigErrorReason
  constructor(reason: ContainerConfigErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ContainerConfigError'
    this.reason = reason
  }
}

export interface PlannedSandbox {
  readonly config: SandboxConfig
  /** To be recorded as events of the pod. */
  readonly warnings: readonly PodWarning[]
}

export function sandboxConfigOf(pod: KubeletPod, context: SandboxContext): PlannedSandbox {
  const { attempt, node, handler, resolvConf } = context
  try {
    const { config: dns, warnings } = podDns(pod, node, resolvConf)
    const { name, namespace, uid, annotations = {} } = pod.metadata
    const overhead = overheadResources(pod)
    const config: SandboxConfig = {
      metadata: { name, namespace, uid, attempt },
      hostname: pod.spec?.hostNetwork ? '' : kernelHostname(pod, podHostname(pod, node.clusterDomain)),
      logFolder: podLogFolder(node, pod),
      dns,
      portMappings: hostPortsOf(pod),
      labels: sandboxLabels(pod),
      annotations,
      cgroupParent: podCgroup(node, pod),
      sysctls: sysctlsOf(pod),
      security: sandboxSecurity(pod, context),
      runtimeHandler: handler?.name ?? '',
      resources: sandboxResources(pod),
      ...(overhead && { overhead }),
    }
    return { config, warnings }
  } catch (error) {
    throw asConfigError('CreatePodSandboxError', error)
  }
}

/** Mounted files and the container's log directory must exist before the container is created. */
export async function containerConfigOf(input: ContainerInput): Promise<ContainerConfig> {
  const { pod, container, attempt, image, volumes, machine } = input
  try {
    const environment = await environmentOf(input)
    const { stopSignal } = container.lifecycle ?? {}
    return {
      name: container.name,
      attempt,
      image: image.id,
      userImage: container.image ?? '',
      ...expandCommand(container, environment),
      workingDir: container.workingDir ?? '',
      environment: Array.from(environment, ([name, value]) => ({ name, value })),
      devices: devicesOf(container, volumes),
      mounts: await mountsOf(input, environment),
      labels: containerLabels(pod, container),
      annotations: containerAnnotations(pod, container, attempt),
      logPath: containerLogPath(container.name, attempt),
      stdin: container.stdin ?? false,
      stdinOnce: container.stdinOnce ?? false,
      tty: container.tty ?? false,
      resources: containerResources(pod, container, machine),
      security: containerSecurity(input),
      ...(stopSignal !== undefined && { stopSignal }),
    }
  } catch (error) {
    throw asConfigError('CreateContainerConfigError', error)
  }
}

function asConfigError(reason: ContainerConfigErrorReason, error: unknown): ContainerConfigError {
  return new ContainerConfigError(reason, messageOf(error), {
    cause: error,
  })
}
