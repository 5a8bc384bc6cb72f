/**
 * Sets imagePullPolicy to Always, so that a pod cannot use a private image from the node's cache without
 * having credentials for it.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#alwayspullimages
 */
import { formatFieldErrors, notSupported } from '#/api/field-error.ts'
import type { Container, Pod, PodSpec, Volume } from '#/api/generated/core/v1.ts'
import { admissionForbidden, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import { allContainers, podWrites, specOf, withSpec } from './pod-spec.ts'

export function alwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    handles: podWrites(['CREATE', 'UPDATE']),
    mutate(request) {
      const pod = request.object as Pod
      return hasNewImages(request) ? withSpec(pod, alwaysPulled(specOf(pod))) : pod
    },
    validate(request) {
      if (!hasNewImages(request)) return
      const lazy = places(specOf(request.object as Pod)).filter(({ policy }) => policy !== 'Always')
      if (lazy.length === 0) return
      throw admissionForbidden(
        request,
        formatFieldErrors(lazy.map(({ field, policy }) => notSupported(field, policy, ['Always']))),
      )
    },
  }
}

/** Updates that add no new image keep the pod's pull policies. */
function hasNewImages({ object, oldObject }: AdmissionAttributes): boolean {
  if (oldObject === undefined) return true
  const known = new Set(allContainers(specOf(oldObject as Pod)).map(container => container.image))
  return allContainers(specOf(object as Pod)).some(container => !known.has(container.image))
}

function alwaysPulled(spec: PodSpec): Partial<PodSpec> {
  const { initContainers, containers, ephemeralContainers, volumes } = spec
  return {
    containers: containers.map(pulled),
    ...(initContainers && { initContainers: initContainers.map(pulled) }),
    ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(pulled) }),
    ...(volumes && { volumes: volumes.map(pulledVolume) }),
  }
}

function pulled<C extends Container>(container: C): C {
  return { ...container, imagePullPolicy: 'Always' }
}

function pulledVolume(volume: Volume): Volume {
  return volume.image ? { ...volume, image: { ...volume.image, pullPolicy: 'Always' } } : volume
}

interface Place {
  readonly field: string
  readonly policy: string
}

function places({
  initContainers = [],
  containers,
  ephemeralContainers = [],
  volumes = [],
}: PodSpec): readonly Place[] {
  const of = (list: readonly Container[], name: string): readonly Place[] =>
    list.map((container, index) => {
      return { field: `spec.${name}[${index}].imagePullPolicy`, policy: container.imagePullPolicy ?? '' }
    })
  const images = volumes.flatMap(({ image }, index) => {
    return image ? [{ field: `spec.volumes[${index}].image.pullPolicy`, policy: image.pullPolicy ?? '' }] : []
  })
  return [
    ...of(initContainers, 'initContainers'),
    ...of(containers, 'containers'),
    ...of(ephemeralContainers, 'ephemeralContainers'),
    ...images,
  ]
}
