/** The requests of pods during an in-place resize. */
import type { Container, ContainerStatus, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { compareQuantities, tryParseQuantity } from '#/api/text/quantity.ts'

type ResourceList = Readonly<Record<string, string>>

const noSpec: PodSpec = { containers: [] }

/**
 * The spec with the requests that count during an in-place resize: the maximum of desired, allocated and
 * actual resources. The desired ones are ignored if the resize is infeasible. Returns the same object if
 * nothing differs.
 */
export function withResizeRequests({ spec = noSpec, status = {} }: Pod): PodSpec {
  const { containerStatuses = [], initContainerStatuses = [], resources: whole } = status
  const statuses = new Map(
    [...containerStatuses, ...initContainerStatuses].flatMap(each =>
      each.resources === undefined ? [] : [[each.name, each] as const],
    ),
  )
  if (statuses.size === 0 && whole === undefined) return spec
  const pending = status.conditions?.find(({ type }) => type === 'PodResizePending')
  const isWanted = pending?.reason !== 'Infeasible'
  const containers = (spec.containers ?? []).map(each => counted(each, statuses.get(each.name), isWanted))
  const initContainers = spec.initContainers?.map(each => {
    return each.restartPolicy === 'Always' ? counted(each, statuses.get(each.name), isWanted) : each
  })
  const asked = spec.resources?.requests
  const requests =
    asked === undefined || whole === undefined
      ? asked
      : mostOf(asked, isWanted, whole.requests, status.allocatedResources)
  const isSame =
    requests === asked &&
    containers.every((each, index) => each === spec.containers[index]) &&
    (initContainers ?? []).every((each, index) => each === spec.initContainers?.[index])
  if (isSame) return spec
  return {
    ...spec,
    containers,
    ...(initContainers && { initContainers }),
    ...(requests && { resources: { ...spec.resources, requests } }),
  }
}

function counted(container: Container, status: ContainerStatus | undefined, isWanted: boolean): Container {
  if (status === undefined) return container
  const asked = container.resources?.requests ?? {}
  const most = mostOf(asked, isWanted, status.resources?.requests, status.allocatedResources)
  return most === asked ? container : { ...container, resources: { ...container.resources, requests: most } }
}

/** Returns `asked` itself if it is the maximum. */
function mostOf(
  asked: ResourceList,
  isWanted: boolean,
  ...others: readonly (ResourceList | undefined)[]
): ResourceList {
  const most = new Map(isWanted ? Object.entries(asked) : [])
  let isChanged = !isWanted
  for (const [name, text] of others.flatMap(list => Object.entries(list ?? {}))) {
    const known = most.get(name)
    if (known === text || (known !== undefined && !isMore(text, known))) continue
    most.set(name, text)
    isChanged = true
  }
  return isChanged ? Object.fromEntries(most) : asked
}

function isMore(left: string, right: string): boolean {
  const [more, less] = [tryParseQuantity(left), tryParseQuantity(right)]
  return more !== undefined && (less === undefined || compareQuantities(more, less) > 0)
}
