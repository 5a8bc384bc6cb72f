/** Default requests and limits of containers from a LimitRange. */
import type { Container, LimitRange, Pod, ResourceRequirements } from '#/api/generated/core/v1.ts'
import { specOf, withSpec } from '../pod-spec.ts'

type Amounts = Readonly<Record<string, string>>

/** Returns the same pod object when no default applies. */
export function withDefaultResources(pod: Pod, { spec }: LimitRange): Pod {
  const items = (spec?.limits ?? []).filter(item => item.type === 'Container')
  const requests: Amounts = Object.fromEntries(
    items.flatMap(item => Object.entries(item.defaultRequest ?? {})),
  )
  const limits: Amounts = Object.fromEntries(items.flatMap(item => Object.entries(item.default ?? {})))
  const notes: string[] = []
  const fill =
    (what: string) =>
    <C extends Container>(container: C): C => {
      const lacking = {
        requests: missing(container.resources?.requests, requests),
        limits: missing(container.resources?.limits, limits),
      }
      if (lacking.requests.length > 0)
        notes.push(`${lacking.requests.join(', ')} request for ${what} ${container.name}`)
      if (lacking.limits.length > 0)
        notes.push(`${lacking.limits.join(', ')} limit for ${what} ${container.name}`)
      if (lacking.requests.length + lacking.limits.length === 0) return container
      const resources: ResourceRequirements = {
        ...container.resources,
        ...(lacking.limits.length > 0 && { limits: { ...limits, ...container.resources?.limits } }),
        ...(lacking.requests.length > 0 && { requests: { ...requests, ...container.resources?.requests } }),
      }
      return { ...container, resources }
    }
  const { containers, initContainers } = specOf(pod)
  const filled = withSpec(pod, {
    containers: containers.map(fill('container')),
    ...(initContainers && { initContainers: initContainers.map(fill('init container')) }),
  })
  if (notes.length === 0) return pod
  const annotations = {
    ...pod.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${notes.join('; ')}`,
  }
  return { ...filled, metadata: { ...pod.metadata, annotations } }
}

const annotation = 'kubernetes.io/limit-ranger'

function missing(given: Amounts | undefined, defaults: Amounts): readonly string[] {
  return Object.keys(defaults)
    .filter(name => given?.[name] === undefined)
    .sort()
}
