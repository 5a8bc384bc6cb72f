import type { NodeSelector, NodeSelectorRequirement } from '#/api/generated/core/v1.ts'
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from '#/api/generated/resource/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatQuantity } from '#/api/text/quantity.ts'
import type { Candidate } from './pools.ts'
import type { Alternative } from './prepare-claims.ts'
import type { DeviceAllocation } from './allocate-devices.ts'

/** The allocation result of a claim. */
export function allocationOf(
  claim: ResourceClaim,
  found: { readonly allocations: readonly DeviceAllocation[]; readonly chosen: readonly Alternative[] },
  { node, shareId }: { readonly node: string; readonly shareId: () => string },
): AllocationResult {
  const config = [...configOfClasses(found.chosen), ...configOfClaim(claim, found.chosen)]
  const nodeSelector = nodeSelectorOf(found.allocations, node)
  return {
    devices: {
      results: found.allocations.map(allocation => resultOf(allocation, shareId)),
      ...(config.length > 0 && { config }),
    },
    ...(nodeSelector && { nodeSelector }),
  }
}

function resultOf(
  { alternative, candidate, consumed }: DeviceAllocation,
  shareId: () => string,
): DeviceRequestAllocationResult {
  const { bindingConditions = [], bindingFailureConditions = [] } = candidate.device
  const { tolerations } = alternative
  return {
    request: alternative.name,
    driver: candidate.driver,
    pool: candidate.pool.name,
    device: candidate.device.name,
    ...(alternative.adminAccess && { adminAccess: true }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(bindingConditions.length > 0 && { bindingConditions }),
    ...(bindingFailureConditions.length > 0 && { bindingFailureConditions }),
    ...(consumed && { shareID: shareId() }),
    ...(consumed && consumed.size > 0 && { consumedCapacity: amounts(consumed) }),
  }
}

function amounts(consumed: NonNullable<DeviceAllocation['consumed']>): Readonly<Record<string, string>> {
  return Object.fromEntries([...consumed].map(([name, amount]) => [name, formatQuantity(amount)]))
}

/** Configuration of the DeviceClasses, for all requests that refer to them. */
function configOfClasses(chosen: readonly Alternative[]): readonly DeviceAllocationConfiguration[] {
  const byClass = Map.groupBy(chosen, ({ deviceClass }) => deviceClass)
  return [...byClass].flatMap(([{ spec }, alternatives]) => {
    const requests = alternatives.map(({ name }) => name)
    return (spec.config ?? []).map(config => ({ ...config, source: 'FromClass', requests }))
  })
}

/** Configuration of the claim, without that for subrequests that were not chosen. */
function configOfClaim(
  { spec }: ResourceClaim,
  chosen: readonly Alternative[],
): readonly DeviceAllocationConfiguration[] {
  return (spec.devices?.config ?? [])
    .filter(({ requests = [] }) => {
      if (requests.length === 0) return true
      return chosen.some(({ request, name }) => requests.includes(request) || requests.includes(name))
    })
    .map(config => ({ ...config, source: 'FromClaim' }))
}

/** Selects the nodes where all of the devices are available; undefined if that is everywhere. */
function nodeSelectorOf(allocations: readonly DeviceAllocation[], node: string): NodeSelector | undefined {
  const candidates = allocations.map(({ candidate }) => candidate)
  if (candidates.some(isForOneNode)) {
    const onNode = { key: 'metadata.name', operator: 'In', values: [node] }
    return { nodeSelectorTerms: [{ matchFields: [onNode] }] }
  }
  const matchFields: NodeSelectorRequirement[] = []
  const matchExpressions: NodeSelectorRequirement[] = []
  for (const candidate of candidates) {
    const [term, ...others] = placeOf(candidate).nodeSelector?.nodeSelectorTerms ?? []
    if (others.length > 0)
      throw new Error(`unsupported ResourceSlice.NodeSelector with ${others.length + 1} terms`)
    addMissing(matchFields, term?.matchFields)
    addMissing(matchExpressions, term?.matchExpressions)
  }
  if (matchFields.length === 0 && matchExpressions.length === 0) return undefined
  return {
    nodeSelectorTerms: [
      {
        ...(matchFields.length > 0 && { matchFields }),
        ...(matchExpressions.length > 0 && { matchExpressions }),
      },
    ],
  }
}

function isForOneNode(candidate: Candidate): boolean {
  return candidate.device.bindsToNode === true || placeOf(candidate).nodeName !== undefined
}

/** The node selection of the device, or of its slice. */
function placeOf({ device, slice }: Candidate): {
  readonly nodeName?: string
  readonly nodeSelector?: NodeSelector
} {
  return slice.spec.perDeviceNodeSelection === true ? device : slice.spec
}

function addMissing(
  to: NodeSelectorRequirement[],
  requirements: readonly NodeSelectorRequirement[] = [],
): void {
  for (const requirement of requirements)
    if (!to.some(known => equalJson(known, requirement))) to.push(requirement)
}
