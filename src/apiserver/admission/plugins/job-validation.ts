/** Rejects changes of `parallelism` for a Job with a gang-scheduled PodGroup. */
import type { Job } from '#/api/generated/batch/v1.ts'
import { podGroups } from '#/api/generated/scheduling/v1alpha2-resources.ts'
import type { PodGroup } from '#/api/generated/scheduling/v1alpha2.ts'
import { controllerOf, type Stored } from '#/api/metadata.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { getCached, listCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function jobValidation(context: PluginContext): AdmissionPlugin {
  const groupsOf = (job: Job, namespace: string): readonly Stored<PodGroup>[] => {
    const { template = {} } = job.spec ?? {}
    const name = template.spec?.schedulingGroup?.podGroupName
    const named = name ? getCached(context, podGroups, { name, namespace }) : undefined
    if (name) return named ? [named] : []
    return listCached(context, podGroups, namespace).filter(
      group => controllerOf(group)?.uid === job.metadata.uid,
    )
  }
  return {
    name: 'JobValidation',
    handles: target => target.operation === 'UPDATE' && matchesResource(target, 'jobs.batch'),
    validate(request) {
      const oldObject = request.oldObject as Job
      if ((request.object as Job).spec?.parallelism === oldObject.spec?.parallelism) return
      const gang = groupsOf(oldObject, request.namespace).find(group => group.spec.schedulingPolicy.gang)
      if (gang === undefined) return
      throw admissionForbidden(
        request,
        `cannot change parallelism for a Job referencing gang-scheduled PodGroup "${gang.metadata.name}"`,
      )
    },
  }
}
