/**
 * What containers, pods and volume claims of a namespace may ask for, and what they ask for when they say nothing.
 * https://kubernetes.io/docs/concepts/policy/limit-range/
 */
import type { LimitRange, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { limitRanges } from '#/api/generated/core/v1-resources.ts'
import {
  isAbout,
  refused,
  type AdmissionPlugin,
  type AdmissionRequest,
  type AdmissionTarget,
} from './admission.ts'
import { Derived } from './derived.ts'
import { checkClaim, checkPod } from './limit-ranger/constraints.ts'
import { withDefaultResources } from './limit-ranger/defaults.ts'
import type { PluginContext } from './plugin-context.ts'

export function limitRanger({ cache }: PluginContext): AdmissionPlugin {
  const byNamespace = new Derived(cache, limitRanges, objects =>
    Map.groupBy(objects, each => each.metadata?.namespace ?? ''),
  )
  const rangesFor = ({ namespace, before }: AdmissionRequest): readonly LimitRange[] => {
    // What is going away is not held up by what it asks for.
    if (before?.metadata?.deletionTimestamp !== undefined) return []
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
        throw refused(request, texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`)
      }
    },
  }
}

/** What a pod asks for changes only when it is resized. */
function isPodWrite(target: AdmissionTarget): boolean {
  return target.operation === 'CREATE'
    ? isAbout(target, 'pods')
    : target.operation === 'UPDATE' && isAbout(target, 'pods', ['resize'])
}

function isClaimWrite(target: AdmissionTarget): boolean {
  return (
    (target.operation === 'CREATE' || target.operation === 'UPDATE') &&
    isAbout(target, 'persistentvolumeclaims')
  )
}
