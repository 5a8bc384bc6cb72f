import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { specOf } from '../pod-spec.ts'

/** True if an update changes what runs in the pod. Other mutable fields cannot make it less secure. */
export function isSignificantPodUpdate(pod: Pod, oldObject: Pod): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = specOf(pod)
  const {
    containers: were,
    initContainers: initWere = [],
    ephemeralContainers: ephemeralWere = [],
  } = specOf(oldObject)
  return (
    differ(containers, were) ||
    differ(initContainers, initWere) ||
    ephemeralContainers.some(
      ({ name, image }) => ephemeralWere.find(each => each.name === name)?.image !== image,
    ) ||
    ephemeralContainers.some(({ name }) => !ephemeralWere.some(each => each.name === name))
  )
}

function differ(containers: readonly Container[], were: readonly Container[]): boolean {
  return (
    containers.length !== were.length ||
    containers.some((container, index) => container.image !== were[index]?.image)
  )
}
