/** Labels of cluster events in metrics: `NodeAdd`, `AssignedPodDelete`, `storage.k8s.io/CSINodeUpdate`. */
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { equalJson } from '#/api/text/json-value.ts'

interface ObjectChange {
  readonly oldObject?: KubernetesObject | undefined
  readonly newObject?: KubernetesObject | undefined
}

export function eventLabel(resource: Resource, { oldObject, newObject }: ObjectChange): string {
  const { group, kind } = resource
  const isCore = group === ''
  const subject =
    isCore && kind === 'Pod' ? podSubject(newObject ?? oldObject) : isCore ? kind : `${group}/${kind}`
  if (oldObject === undefined) return `${subject}Add`
  if (newObject === undefined) return `${subject}Delete`
  return isCore && kind === 'Node'
    ? `NodeUpdate${nodeChange(oldObject as Node, newObject as Node)}`
    : `${subject}Update`
}

function podSubject(pod: KubernetesObject | undefined): string {
  return (pod as Pod | undefined)?.spec?.nodeName ? 'AssignedPod' : 'UnschedulablePod'
}

/** The first of the properties that the scheduler distinguishes. */
function nodeChange(oldNode: Node, newNode: Node): string {
  const changed = (read: (node: Node) => unknown): boolean => !equalJson(read(oldNode), read(newNode))
  if (changed(({ status }) => status?.allocatable)) return 'NodeAllocatable'
  if (changed(({ metadata }) => metadata.labels)) return 'NodeLabel'
  if (changed(({ spec }) => [spec?.taints, spec?.unschedulable])) return 'NodeTaint'
  if (changed(({ status }) => status?.conditions?.map(({ type, status: state }) => [type, state])))
    return 'NodeCondition'
  return changed(({ metadata }) => metadata.annotations) ? 'NodeAnnotation' : ''
}
