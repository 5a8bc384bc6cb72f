import type { ResourceRequirements } from '#/api/generated/core/v1.ts'
import type { LinuxResources } from '#/cri/cri.ts'
import { containerResources } from '../container-config/resources.ts'
import { resizedContainers, type Resized } from '../container-resize.ts'
import type { PodParts } from '../pod-parts.ts'

/**
 * Gives running containers what their spec asks for by now. The pod as a whole may need more before they can have
 * more, and can have less only after they have less: so it is asked both times, and has to succeed the second time.
 */
export async function resizeContainers(
  parts: Pick<PodParts, 'runtime' | 'cgroups' | 'machine'>,
  resized: Resized,
  onGiven: (id: string, resources: ResourceRequirements) => void,
): Promise<void> {
  const { runtime, cgroups, machine } = parts
  const { pod } = resized
  await cgroups.ensure(pod).catch(() => undefined)
  for (const [container, { id }] of resizedContainers(resized)) {
    await runtime.updateResources(id, changeable(containerResources(pod, container, machine())))
    onGiven(id, container.resources ?? {})
  }
  await cgroups.ensure(pod)
}

/** The rest stays as it was. */
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
