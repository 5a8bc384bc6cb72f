/**
 * The resize subresource: in-place changes of the resources of a running pod.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import { forbiddenField, invalid, type FieldError } from '../../../field-error.ts'
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../../generated/core/v1.ts'
import { computedQosClass, qosClassOf } from '../../../qos-class.ts'
import { isSidecar } from './containers-of.ts'
import { specOf, validatePod } from './pod-validation.ts'
import type { ResourceList } from './resource-amounts.ts'
import { sameMeaning } from './same-meaning.ts'
import { isMirrorPod } from './validation-context.ts'

/** The old pod with the new resources and resize policies. */
export function prepareResizeUpdate(pod: Pod, before: Pod): Pod {
  const spec = specOf(pod)
  const old = specOf(before)
  const containers = resized(spec.containers ?? [], old.containers ?? [])
  const initContainers = resized(spec.initContainers ?? [], old.initContainers ?? [])
  if (containers === undefined || initContainers === undefined) return pod
  const { resources: _, ...rest } = old
  const { managedFields } = pod.metadata ?? {}
  return {
    ...before,
    metadata: { ...before.metadata, ...(managedFields && { managedFields }) },
    spec: {
      ...rest,
      containers,
      ...(old.initContainers && { initContainers }),
      ...(spec.resources && { resources: spec.resources }),
    },
  }
}

/** The old containers with the new resources; undefined if containers were added, removed or reordered. */
function resized(
  containers: readonly Container[],
  before: readonly Container[],
): readonly Container[] | undefined {
  if (containers.length !== before.length) return undefined
  if (containers.some((container, index) => container.name !== before[index]?.name)) return undefined
  return before.map((old, index) => {
    const { resources: _, resizePolicy: __, ...rest } = old
    const { resources, resizePolicy } = containers[index] ?? old
    return { ...rest, ...(resources && { resources }), ...(resizePolicy && { resizePolicy }) }
  })
}

export function validateResizeUpdate(pod: Pod, before: Pod): FieldError[] {
  if (isMirrorPod(before.metadata)) return [forbiddenField('', 'static pods cannot be resized')]
  if (before.spec?.os?.name === 'windows') return [forbiddenField('', 'windows pods cannot be resized')]
  const spec = specOf(pod)
  const old = specOf(before)
  const errors = [...validatePod(pod), ...validateResizable(pod, before), ...validatePodLevel(spec, old)]
  const orderErrors = [
    ...validateOrder('containers', spec, old),
    ...validateOrder('initContainers', spec, old),
  ]
  if (orderErrors.length > 0) return [...errors, ...orderErrors]
  const all = [
    ...errors,
    ...validateKept('initContainers', spec, old),
    ...validateKept('containers', spec, old),
    ...validateContainerChanges(spec, old),
    ...validateInitContainerChanges(spec, old),
  ]
  if (all.length > 0) return all
  return sameMeaning(untouchable(spec), untouchable(old))
    ? []
    : [forbiddenField('spec', 'only cpu and memory resources are mutable')]
}

function untouchable(spec: PodSpec): object {
  const { containers: _, initContainers: __, resources: ___, ...rest } = spec
  return rest
}

function validateResizable(pod: Pod, before: Pod): FieldError[] {
  const errors: FieldError[] = []
  if (qosClassOf(before) !== computedQosClass(specOf(pod))) {
    const detail = 'Pod QOS Class may not change as a result of resizing'
    errors.push(invalid('spec', pod.status?.qosClass ?? '', detail))
  }
  // A runtime that does not report the resources of a running container does not support resize.
  const running = before.status?.containerStatuses?.find(status => status.state?.running)
  if (running !== undefined && running.resources === undefined) {
    errors.push(forbiddenField('spec', 'Pod running on node without support for resize'))
  }
  if (before.status?.nodeAllocatableResourceClaimStatuses?.length) {
    errors.push(forbiddenField('spec', 'pods with node allocatable resource claims cannot be resized'))
  }
  return errors
}

function validatePodLevel(spec: PodSpec, before: PodSpec): FieldError[] {
  const { resources } = spec
  const old = before.resources
  if (old === undefined && resources === undefined) return []
  if (resources === undefined) {
    return [forbiddenField('spec.resources', 'pod-level resources cannot be removed')]
  }
  const errors: FieldError[] = []
  for (const kind of ['requests', 'limits'] as const) {
    if (!lacksSome(resources[kind], old?.[kind])) continue
    errors.push(forbiddenField(`spec.resources.${kind}`, `pod-level resource ${kind} cannot be removed`))
  }
  if (sameOthers(resources, old ?? {})) return errors
  return [...errors, forbiddenField('spec', 'only cpu and memory resources are mutable at pod-level')]
}

type ContainerList = 'containers' | 'initContainers'

function validateOrder(list: ContainerList, spec: PodSpec, before: PodSpec): FieldError[] {
  const containers = spec[list] ?? []
  const old = before[list] ?? []
  if (containers.length !== old.length) {
    return [forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`)]
  }
  return containers.flatMap((container, index) => {
    if (container.name === old[index]?.name) return []
    return [
      forbiddenField(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`),
    ]
  })
}

/** Existing requests and limits may change but must not be removed. */
function validateKept(list: ContainerList, spec: PodSpec, before: PodSpec): FieldError[] {
  return (before[list] ?? []).flatMap((old, index) =>
    (['requests', 'limits'] as const).flatMap(kind => {
      if (!lacksSome(spec[list]?.[index]?.resources?.[kind], old.resources?.[kind])) return []
      return [
        forbiddenField(`spec.${list}[${index}].resources.${kind}`, `resource ${kind} cannot be removed`),
      ]
    }),
  )
}

function validateContainerChanges(spec: PodSpec, before: PodSpec): FieldError[] {
  const isChanged = (spec.containers ?? []).some((each, index) => {
    return !changesOnlyResources(each, before.containers?.[index])
  })
  return isChanged ? [forbiddenField('spec', 'only cpu and memory resources are mutable')] : []
}

function validateInitContainerChanges(spec: PodSpec, before: PodSpec): FieldError[] {
  return (spec.initContainers ?? []).flatMap((container, index) => {
    const place = `spec.initContainers[${index}]`
    const old = before.initContainers?.[index]
    if (!changesOnlyResources(container, old)) {
      return [
        forbiddenField(place, 'only cpu and memory resources for init or sidecar containers are mutable'),
      ]
    }
    const restarts =
      container.resizePolicy?.some(policy => policy.restartPolicy === 'RestartContainer') ?? false
    if (isSidecar(container) || !restarts || sameMeaning(container, old)) return []
    const detail = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'
    return [forbiddenField(place, detail)]
  })
}

function changesOnlyResources(container: Container, before: Container | undefined): boolean {
  if (before === undefined) return false
  const { resources = {}, ...rest } = container
  const { resources: old = {}, ...oldRest } = before
  return sameMeaning(rest, oldRest) && sameOthers(resources, old)
}

/** True if all resources other than cpu and memory are equal. */
function sameOthers(resources: ResourceRequirements, before: ResourceRequirements): boolean {
  return (
    sameMeaning(others(resources.limits), others(before.limits)) &&
    sameMeaning(others(resources.requests), others(before.requests)) &&
    sameMeaning(resources.claims, before.claims)
  )
}

function others(list: ResourceList | undefined): ResourceList {
  const { cpu: _, memory: __, ...rest } = list ?? {}
  return rest
}

function lacksSome(list: ResourceList | undefined, before: ResourceList | undefined): boolean {
  return Object.keys(before ?? {}).some(name => !Object.hasOwn(list ?? {}, name))
}
