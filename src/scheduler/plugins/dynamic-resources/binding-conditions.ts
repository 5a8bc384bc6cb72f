import type { DeviceRequestAllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { parseTime } from '#/api/text/time.ts'

/**
 * True if the binding conditions of all devices of the claim are met. Throws if a binding failure condition
 * is set.
 */
export function isReady(claim: ResourceClaim): boolean {
  return devicesWithConditions(claim).every(device => {
    const status = claim.status?.devices?.find(each => {
      return each.device === device.device && each.driver === device.driver && each.pool === device.pool
    })
    if (status === undefined) return false
    const conditions = (status.conditions ?? []).filter(each => each.status === 'True')
    const failed = conditions.find(({ type }) => device.bindingFailureConditions?.includes(type))
    if (failed !== undefined) {
      const message = JSON.stringify(failed.message)
      const about = `claim=${claim.metadata.name}, reason=${failed.reason}, message=${message}`
      throw new Error(`device binding failed: ${about}`)
    }
    return device.bindingConditions?.every(type => conditions.some(each => each.type === type)) ?? true
  })
}

export function hasConditions(claim: ResourceClaim): boolean {
  return devicesWithConditions(claim).length > 0
}

/** True if the binding has failed or timed out. */
export function isHopeless(claim: ResourceClaim, timeoutMs: number, nowMs: number): boolean {
  try {
    return !isReady(claim) && isLate(claim, timeoutMs, nowMs)
  } catch {
    return true
  }
}

function isLate(claim: ResourceClaim, timeoutMs: number, nowMs: number): boolean {
  const since = parseTime(claim.status?.allocation?.allocationTimestamp ?? '')
  return since !== undefined && hasConditions(claim) && since + timeoutMs < nowMs
}

function devicesWithConditions({ status }: ResourceClaim): readonly DeviceRequestAllocationResult[] {
  return (status?.allocation?.devices?.results ?? []).filter(({ bindingConditions = [] }) => {
    return bindingConditions.length > 0
  })
}
