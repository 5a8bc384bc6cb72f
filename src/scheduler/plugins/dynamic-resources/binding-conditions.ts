import type { DeviceRequestAllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { parseTime } from '#/api/time.ts'

/** Whether others still have something to do before a pod may use the devices of the claim. Throws when they cannot. */
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
      const about = `claim=${claim.metadata?.name}, reason=${failed.reason}, message=${message}`
      throw new Error(`device binding failed: ${about}`)
    }
    return device.bindingConditions?.every(type => conditions.some(each => each.type === type)) ?? true
  })
}

export function hasConditions(claim: ResourceClaim): boolean {
  return devicesWithConditions(claim).length > 0
}

/** Whether the devices will not be ready: somebody says so, or has taken too long. */
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
