/**
 * Applies the default requests and limits of LimitRanges, and enforces their constraints on containers, pods
 * and PersistentVolumeClaims. https://kubernetes.io/docs/concepts/policy/limit-range/
 */
import type { LimitRange, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { limitRanges } from '#/api/generated/core/v1-resources.ts'
import {
  matchesResource,
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
} from '../admission-chain.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import { checkClaim, checkPod } from './limit-ranger/constraints.ts'
import { withDefaultResources } from './limit-ranger/defaults.ts'
import type { PluginContext } from '../plugin-context.ts'

export function limitRanger({ cache }: PluginContext): AdmissionPlugin {
  const byNamespace = new CachedDerivation(cache, limitRanges, objects =>
    Map.groupBy(objects, each => each.metadata.namespace ?? ''),
  )
  const rangesFor = ({ namespace, oldObject }: AdmissionAttributes): readonly LimitRange[] => {
    // Updates of objects being deleted are not checked, so that finalizers can be removed.
    if (oldObject?.metadata.deletionTimestamp !== undefined) return []
    return byNamespace.value.get(namespace) ?? []
  }
  return {
    name: 'LimitRanger',
    handles: target => isPodWrite(target) || isClaimWrite(target),
    mutate(request) {
      const { object } = request
      if (!isPodWrite(request)) return object
      return rangesFor(request).reduce((pod, range) => withDefaultResources(pod, range), object as Pod)
    },
    validate(request) {
      for (const range of rangesFor(request)) {
        const wrong = isPodWrite(request)
          ? checkPod(range, request.object as Pod)
          : checkClaim(range, request.object as PersistentVolumeClaim)
        if (wrong.length === 0) continue
        const texts = [...new Set(wrong)]
        throw admissionForbidden(request, texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`)
      }
    },
  }
}

/** Pod resources can change only through the `resize` subresource. */
function isPodWrite(target: AdmissionTarget): boolean {
  return target.operation === 'CREATE'
    ? matchesResource(target, 'pods')
    : target.operation === 'UPDATE' && matchesResource(target, 'pods', ['resize'])
}

function isClaimWrite(target: AdmissionTarget): boolean {
  return (
    (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
    matchesResource(target, 'persistentvolumeclaims')
  )
}
