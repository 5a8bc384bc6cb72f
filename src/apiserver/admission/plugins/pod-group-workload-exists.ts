/** Rejects a PodGroup if its Workload, or the referenced template in it, does not exist. */
import type { PodGroup } from '#/api/generated/scheduling/v1alpha2.ts'
import { workloads } from '#/api/generated/scheduling/v1alpha2-resources.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { getCachedOrStored } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function podGroupWorkloadExists(context: PluginContext): AdmissionPlugin {
  return {
    name: 'PodGroupWorkloadExists',
    handles: target =>
      target.operation === 'CREATE' && matchesResource(target, 'podgroups.scheduling.k8s.io'),
    async validate(request) {
      const reference = (request.object as Partial<PodGroup>).spec?.podGroupTemplateRef?.workload
      if (reference === undefined) return
      const { workloadName: name, podGroupTemplateName: template } = reference
      const workload = await getCachedOrStored(context, workloads, { name, namespace: request.namespace })
      if (workload === undefined)
        throw admissionForbidden(request, `PodGroup rejected: Workload "${name}" not found`)
      if (workload.metadata.deletionTimestamp !== undefined) {
        throw admissionForbidden(request, `PodGroup rejected: Workload "${name}" is being deleted`)
      }
      if (workload.spec.podGroupTemplates.some(each => each.name === template)) return
      throw admissionForbidden(
        request,
        `PodGroup rejected: PodGroupTemplate "${template}" not found in Workload "${name}"`,
      )
    },
  }
}
