import type { Service } from '#/api/generated/core/v1.ts'
import { annotationOf } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'

/** Services with the same value may share an address. */
const allowSharedIpAnnotation = 'k8ts.io/allow-shared-ip'

export function sharingKeyOf(service: Service): string | undefined {
  return annotationOf(service, allowSharedIpAnnotation) || undefined
}

/**
 * True if both services can have the same address: they have the same sharing key and no port in common, and one node
 * can serve both. With `externalTrafficPolicy: Local` that is certain only if they have the same pods.
 */
export function canShare(left: Service, right: Service): boolean {
  const key = sharingKeyOf(left)
  if (key === undefined || key !== sharingKeyOf(right)) return false
  const used = new Set(portsOf(left))
  if (portsOf(right).some(port => used.has(port))) return false
  const isLocal = [left, right].some(({ spec }) => spec?.externalTrafficPolicy === 'Local')
  return !isLocal || hasSamePods(left, right)
}

function portsOf({ spec }: Service): readonly string[] {
  return (spec?.ports ?? []).map(({ protocol = 'TCP', port }) => `${protocol}/${port}`)
}

function hasSamePods(left: Service, right: Service): boolean {
  const [own = {}, other = {}] = [left, right].map(({ spec }) => spec?.selector)
  return (
    left.metadata.namespace === right.metadata.namespace &&
    Object.keys(own).length > 0 &&
    equalJson(own, other)
  )
}
