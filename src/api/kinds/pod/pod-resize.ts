/**
 * The resize subresource: in-place changes of the resources of a running pod.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import { forbiddenField, invalid, type FieldError } from '../../field-error.ts'
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../generated/core/v1.ts'
import { computedQosClass, qosClassOf } from '../../core/qos-class.ts'
import { isSidecar } from '../../core/pod-containers.ts'
import { specOf, validatePod } from './pod-validation.ts'
import type { ResourceList } from '../../core/resource-amounts.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { isMirrorPod } from './validation-context.ts'

/** The old pod with the new resources and resize policies. */
export function prepareResizeUpdate(pod: Pod, old: Pod): Pod {
  const spec = specOf(pod)
  const oldSpec = specOf(old)
  const containers = resized(spec.containers ?? [], oldSpec.containers ?? [])
  const initContainers = resized(spec.initContainers ?? [], oldSpec.initContainers ?? [])
  if (containers === undefined || initContainers === undefined) return pod
  const { resources: _, ...rest } = oldSpec
  const { managedFields } = pod.metadata
  return {
    ...old,
    metadata: { ...old.metadata, ...(managedFields && { managedFields }) },
    spec: {
      ...rest,
      containers,
      ...(oldSpec.initContainers && { initContainers }),
      ...(spec.resources && { resources: spec.resources }),
    },
  }
}

/** The old containers with the new resources; undefined if containers were added, removed or reordered. */
function resized(
  containers: readonly Container[],
  old: readonly Container[],
): readonly Container[] | undefined {
  if (containers.length !== old.length) return undefined
  if (containers.some((container, index) => container.name !== old[index]?.name)) return undefined
  return old.map((oldContainer, index) => {
    const { resources: _, resizePolicy: __, ...rest } = oldContainer
    const { resources, resizePolicy } = containers[index] ?? oldContainer
    return { ...rest, ...(resources && { resources }), ...(resizePolicy && { resizePolicy }) }
  })
}

export function validateResizeUpdate(pod: Pod, old: Pod): FieldError[] {
  if (isMirrorPod(old.metadata)) return [forbiddenField('', 'static pods cannot be resized')]
  if (old.spec?.os?.name === 'windows') return [forbiddenField('', 'windows pods cannot be resized')]
  const spec = specOf(pod)
  const oldSpec = specOf(old)
  const errors = [...validatePod(pod), ...validateResizable(pod, old), ...validatePodLevel(spec, oldSpec)]
  const orderErrors = [
    ...validateOrder('containers', spec, oldSpec),
    ...validateOrder('initContainers', spec, oldSpec),
  ]
  if (orderErrors.length > 0) return [...errors, ...orderErrors]
  const all = [
    ...errors,
    ...validateKept('initContainers', spec, oldSpec),
    ...validateKept('containers', spec, oldSpec),
    ...validateContainerChanges(spec, oldSpec),
    ...validateInitContainerChanges(spec, oldSpec),
  ]
  if (all.length > 0) return all
  return semanticEqual(untouchable(spec), untouchable(oldSpec))
    ? []
    : [forbiddenField('spec', 'only cpu and memory resources are mutable')]
}

function untouchable(spec: PodSpec): object {
  const { containers: _, initContainers: __, resources: ___, ...rest } = spec
  return rest
}

function validateResizable(pod: Pod, old: Pod): FieldError[] {
  const errors: FieldError[] = []
  if (qosClassOf(old) !== computedQosClass(specOf(pod))) {
    const detail = 'Pod QOS Class may not change as a result of resizing'
    errors.push(invalid('spec', pod.status?.qosClass ?? '', detail))
  }
  // A runtime that does not report the resources of a running container does not support resize.
  const running = old.status?.containerStatuses?.find(status => status.state?.running)
  if (running !== undefined && running.resources === undefined) {
    errors.push(forbiddenField('spec', 'Pod running on node without support for resize'))
  }
  if (old.status?.nodeAllocatableResourceClaimStatuses?.length) {
    errors.push(forbiddenField('spec', 'pods with node allocatable resource claims cannot be resized'))
  }
  return errors
}

function validatePodLevel(spec: PodSpec, old: PodSpec): FieldError[] {
  const { resources } = spec
  const oldResources = old.resources
  if (oldResources === undefined && resources === undefined) return []
  if (resources === undefined) {
    return [forbiddenField('spec.resources', 'pod-level resources cannot be removed')]
  }
  const errors: FieldError[] = []
  for (const kind of ['requests', 'limits'] as const) {
    if (!lacksSome(resources[kind], oldResources?.[kind])) continue
    errors.push(forbiddenField(`spec.resources.${kind}`, `pod-level resource ${kind} cannot be removed`))
  }
  if (sameOthers(resources, oldResources ?? {})) return errors
  return [...errors, forbiddenField('spec', 'only cpu and memory resources are mutable at pod-level')]
}

type ContainerList = 'containers' | 'initContainers'

function validateOrder(list: ContainerList, spec: PodSpec, old: PodSpec): FieldError[] {
  const containers = spec[list] ?? []
  const oldContainers = old[list] ?? []
  if (containers.length !== oldContainers.length) {
    return [forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`)]
  }
  return containers.flatMap((container, index) => {
    if (container.name === oldContainers[index]?.name) return []
    return [
      forbiddenField(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`),
    ]
  })
}

/** Existing requests and limits may change but must not be removed. */
function validateKept(list: ContainerList, spec: PodSpec, old: PodSpec): FieldError[] {
  return (old[list] ?? []).flatMap((oldContainer, index) =>
    (['requests', 'limits'] as const).flatMap(kind => {
      if (!lacksSome(spec[list]?.[index]?.resources?.[kind], oldContainer.resources?.[kind])) return []
      return [
        forbiddenField(`spec.${list}[${index}].resources.${kind}`, `resource ${kind} cannot be removed`),
      ]
    }),
  )
}

function validateContainerChanges(spec: PodSpec, old: PodSpec): FieldError[] {
  const isChanged = (spec.containers ?? []).some((each, index) => {
    return !changesOnlyResources(each, old.containers?.[index])
  })
  return isChanged ? [forbiddenField('spec', 'only cpu and memory resources are mutable')] : []
}

function validateInitContainerChanges(spec: PodSpec, old: PodSpec): FieldError[] {
  return (spec.initContainers ?? []).flatMap((container, index) => {
    const place = `spec.initContainers[${index}]`
    const oldContainer = old.initContainers?.[index]
    if (!changesOnlyResources(container, oldContainer)) {
      return [
        forbiddenField(place, 'only cpu and memory resources for init or sidecar containers are mutable'),
      ]
    }
    const restarts =
      container.resizePolicy?.some(policy => policy.restartPolicy === 'RestartContainer') ?? false
    if (isSidecar(container) || !restarts || semanticEqual(container, oldContainer)) return []
    const detail = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'
    return [forbiddenField(place, detail)]
  })
}

function changesOnlyResources(container: Container, old: Container | undefined): boolean {
  if (old === undefined) return false
  const { resources = {}, ...rest } = container
  const { resources: oldResources = {}, ...oldRest } = old
  return semanticEqual(rest, oldRest) && sameOthers(resources, oldResources)
}

/** True if all resources other than cpu and memory are equal. */
function sameOthers(resources: ResourceRequirements, old: ResourceRequirements): boolean {
  return (
    semanticEqual(others(resources.limits), others(old.limits)) &&
    semanticEqual(others(resources.requests), others(old.requests)) &&
    semanticEqual(resources.claims, old.claims)
  )
}

function others(list: ResourceList | undefined): ResourceList {
  const { cpu: _, memory: __, ...rest } = list ?? {}
  return rest
}

function lacksSome(list: ResourceList | undefined, old: ResourceList | undefined): boolean {
  return Object.keys(old ?? {}).some(name => !Object.hasOwn(list ?? {}, name))
}
