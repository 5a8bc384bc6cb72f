/**
 * Rejects pod updates that require features the pod's node does not declare in `status.declaredFeatures`.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-declared-features/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { podWrites, specOf } from './pod-spec.ts'

export function nodeDeclaredFeatureValidator(context: PluginContext): AdmissionPlugin {
  return {
    name: 'NodeDeclaredFeatureValidator',
    handles: podWrites(['UPDATE'], ['', 'resize']),
    validate(request) {
      const pod = request.object as Pod
      const oldObject = request.oldObject as Pod
      const name = pod.spec?.nodeName
      if (!name || pod.metadata.generation === oldObject.metadata.generation) return
      const needed = neededFeatures(pod, oldObject)
      if (needed.length === 0) return
      const node = getCached(context, nodes, { name })
      if (node === undefined) throw admissionForbidden(request, `node "${name}" not found`)
      const missing = needed.filter(feature => !node.status?.declaredFeatures?.includes(feature))
      if (missing.length === 0) return
      throw admissionForbidden(
        request,
        `pod update requires features ${missing.join(', ')} which are not available on node "${name}"`,
      )
    },
  }
}

/** Sorted by name. */
function neededFeatures(pod: Pod, oldObject: Pod): readonly string[] {
  const { resources, initContainers = [] } = specOf(pod)
  const { resources: old, initContainers: oldContainers = [] } = specOf(oldObject)
  const resizesStarting = oldContainers.some((container, index) => {
    return (
      container.restartPolicy !== 'Always' &&
      !equalJson(container.resources ?? {}, initContainers[index]?.resources ?? {})
    )
  })
  return [
    ...(equalJson(resources, old) ? [] : ['InPlacePodLevelResourcesVerticalScaling']),
    ...(resizesStarting ? ['InPlacePodVerticalScalingInitContainers'] : []),
  ]
}
