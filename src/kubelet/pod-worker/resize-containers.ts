import type { ResourceRequirements } from '#/api/generated/core/v1.ts'
import type { LinuxResources } from '#/cri/cri.ts'
import { containerResources } from '../container-config/resources.ts'
import { resizedContainers, type ResizeInput } from '../container-resize.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'

/**
 * Resizes running containers in place. The pod cgroup has to grow before and shrink after its containers, so
 * it is updated twice; only the second update has to succeed.
 */
export async function resizeContainers(
  dependencies: Pick<PodWorkerDependencies, 'runtime' | 'cgroups' | 'machine'>,
  resized: ResizeInput & { readonly pod: KubeletPod },
  onGiven: (id: string, resources: ResourceRequirements) => void,
): Promise<void> {
  const { runtime, cgroups, machine } = dependencies
  const { pod } = resized
  await cgroups.ensure(pod).catch(() => undefined)
  for (const [container, { id }] of resizedContainers(resized)) {
    await runtime.updateContainerResources(id, changeable(containerResources(pod, container, machine())))
    onGiven(id, container.resources ?? {})
  }
  await cgroups.ensure(pod)
}

/** The resources that can change; others are left unchanged. */
function changeable(all: LinuxResources): LinuxResources {
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitBytes, memorySwapLimitBytes } = all
  return {
    ...(cpuPeriod !== undefined && { cpuPeriod }),
    ...(cpuQuota !== undefined && { cpuQuota }),
    ...(cpuShares !== undefined && { cpuShares }),
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    ...(memorySwapLimitBytes !== undefined && { memorySwapLimitBytes }),
  }
}
