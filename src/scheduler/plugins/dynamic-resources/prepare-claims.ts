import type {
  DeviceClass,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from '#/api/generated/resource/v1.ts'
import type { CapacityRequests } from './capacity.ts'
import type { RequestName } from './constraints.ts'
import type { DeviceSelector } from './device-selectors.ts'

/** A request or subrequest that can satisfy a device request. */
export interface Alternative extends RequestName {
  /** `request`, or `request/subrequest`. */
  readonly name: string
  readonly deviceClass: DeviceClass
  readonly selectors: readonly DeviceSelector[]
  /** Number of devices; undefined for all matching devices. */
  readonly count: number | undefined
  /** Admin access: devices in use can be allocated too. */
  readonly adminAccess: boolean
  readonly tolerations: readonly DeviceToleration[]
  readonly capacity: CapacityRequests
}

export interface PreparedClaim {
  readonly claim: ResourceClaim
  /** Name in error messages. */
  readonly label: string
  /** The alternatives of each request, preferred first. */
  readonly requests: readonly (readonly Alternative[])[]
}

/** The node-independent part of a claim. Throws Error if the claim is invalid. */
export function prepareClaim(
  claim: ResourceClaim,
  classNamed: (name: string) => DeviceClass | undefined,
): PreparedClaim {
  const { namespace, name } = claim.metadata
  const label = `${namespace}/${name}`
  const requests = claim.spec.devices?.requests ?? []
  return {
    claim,
    label,
    requests: requests.map(request =>
      waysOf(request).map(way => prepareAlternative({ label, request: request.name, way, classNamed })),
    ),
  }
}

type Way = ExactDeviceRequest | DeviceSubRequest

/** The alternatives of a request. */
export function waysOf({ exactly, firstAvailable = [] }: DeviceRequest): readonly Way[] {
  return exactly ? [exactly] : firstAvailable
}

interface AlternativeOptions {
  /** Name of the claim in error messages. */
  readonly label: string
  readonly request: string
  readonly way: Way
  readonly classNamed: (name: string) => DeviceClass | undefined
}

function prepareAlternative({ label, request, way, classNamed }: AlternativeOptions): Alternative {
  const subrequest = 'name' in way ? way.name : undefined
  const name = subrequest === undefined ? request : `${request}/${subrequest}`
  const about = `claim ${label}, request ${subrequest ?? request}`
  const deviceClass = classNamed(way.deviceClassName)
  if (deviceClass === undefined)
    throw new Error(`${about}: could not retrieve device class ${way.deviceClassName}`)
  const ofClass = (deviceClass.spec.selectors ?? []).map(({ cel }, index) => {
    return { expression: cel?.expression ?? '', of: `class ${way.deviceClassName}: selector #${index}` }
  })
  const own = (way.selectors ?? []).map(({ cel }, index) => {
    if (cel === undefined)
      throw new Error(`${about}, selector #${index}: CEL expression empty (unsupported selector type?)`)
    return { expression: cel.expression, of: `claim ${label}: selector #${index}` }
  })
  return {
    request,
    subrequest,
    name,
    deviceClass,
    selectors: [...ofClass, ...own],
    count: countOf(way, about),
    adminAccess: 'adminAccess' in way && way.adminAccess === true,
    tolerations: way.tolerations ?? [],
    capacity: way.capacity?.requests ?? {},
  }
}

function countOf({ allocationMode = 'ExactCount', count = 1 }: Way, about: string): number | undefined {
  if (allocationMode === 'All') return undefined
  if (allocationMode === 'ExactCount') return Number(count)
  throw new Error(`${about}: unsupported count mode ${allocationMode}`)
}
