/** Devices and claims in a compact notation, for allocation tests. */
import type {
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
  ResourceSlice,
} from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { nodeOf, stored } from '../../test-cluster.ts'
import { AllocatedDevices } from './allocated-devices.ts'
import { SelectorCache } from './device-selectors.ts'
import { gatherPools, isUsableOn } from './pools.ts'
import { prepareClaim } from './prepare-claims.ts'
import { allocateDevices, type Solution } from './allocate-devices.ts'
import { testSelectors } from './test-selectors.ts'

const deviceClass: DeviceClass = { metadata: { name: 'gpu' }, spec: {} }

/**
 * `name` and words: `numa=1` an attribute, `memory:8Gi` a capacity, `shared` for multiple allocations,
 * `-slots:2` for consumed counters, `!broken` and `?broken` taints with and without effect.
 */
function parseDevice(text: string): Device {
  const [name = '', ...words] = text.split(' ')
  const matches = (pattern: RegExp): [string, string][] =>
    words.flatMap(word => {
      const [, key, value = ''] = pattern.exec(word) ?? []
      return key === undefined ? [] : [[key, value]]
    })
  const attributes = matches(/^(\w+)=(\w+)$/).map(([key, string]) => [key, { string }] as const)
  const capacity = matches(/^(\w+):(\w+)$/).map(([key, value]) => [key, { value }] as const)
  const counters = matches(/^-(\w+):(\w+)$/).map(([key, value]) => [key, { value }] as const)
  const taints = matches(/^([!?]\w+)$/).map(([key]): DeviceTaint => {
    return { key: key.slice(1), effect: key.startsWith('!') ? 'NoSchedule' : 'None' }
  })
  return {
    name,
    ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }),
    ...(capacity.length > 0 && { capacity: Object.fromEntries(capacity) }),
    ...(counters.length > 0 && {
      consumesCounters: [{ counterSet: 'set', counters: Object.fromEntries(counters) }],
    }),
    ...(taints.length > 0 && { taints }),
    ...(words.includes('shared') && { allowMultipleAllocations: true }),
  }
}

/** The slices of the only pool of a node. */
export function sliceOf(
  devices: readonly string[],
  counters: Readonly<Record<string, string>> = {},
): Stored<ResourceSlice>[] {
  const isCounted = Object.keys(counters).length > 0
  const pool = { name: 'p', generation: 1, resourceSliceCount: isCounted ? 2 : 1 }
  const spec = { driver: 'd', pool, nodeName: 'n1' }
  const set = Object.fromEntries(Object.entries(counters).map(([key, value]) => [key, { value }]))
  const slices: ResourceSlice[] = [
    { metadata: { name: 'devices' }, spec: { ...spec, devices: devices.map(parseDevice) } },
    ...(isCounted
      ? [{ metadata: { name: 'set' }, spec: { ...spec, sharedCounters: [{ name: 'set', counters: set }] } }]
      : []),
  ]
  return slices.map(stored)
}

/**
 * Requests with words: a number, `all`, `admin`, `numa=1` for a selector, `~broken` for a toleration,
 * `memory:2Gi` for capacity; `|` between alternatives. Constraints of the claim come after `;`: `same=numa`
 * and `different=numa`.
 */
export function parseClaim(name: string, text: string): ResourceClaim {
  const [requests = '', constraints = ''] = text.split(';').map(part => part.trim())
  const spec = {
    requests: requests.split(', ').map((request, index) => parseRequest(`r${index}`, request)),
    constraints: constraints
      .split(' ')
      .filter(word => word !== '')
      .map((word): DeviceConstraint => {
        const [kind, attribute = ''] = word.split('=')
        return kind === 'same'
          ? { matchAttribute: `d/${attribute}` }
          : { distinctAttribute: `d/${attribute}` }
      }),
  }
  return { metadata: { namespace: 'default', name, uid: name }, spec: { devices: spec } }
}

function parseRequest(name: string, text: string): DeviceRequest {
  const ways = text.split(' | ').map(way => {
    const words = way.split(' ')
    const count = words.find(word => /^\d+$/.test(word))
    const parts = words.flatMap(word => (/^\w+:\w+$/.test(word) ? [word.split(':') as [string, string]] : []))
    const tolerations = words
      .filter(word => word.startsWith('~'))
      .map((word): DeviceToleration => ({ key: word.slice(1), operator: 'Exists' }))
    return {
      deviceClassName: 'gpu',
      ...(count && { count: Number(count) }),
      ...(words.includes('all') && { allocationMode: 'All' }),
      ...(words.includes('admin') && { adminAccess: true }),
      ...(tolerations.length > 0 && { tolerations }),
      ...(parts.length > 0 && { capacity: { requests: Object.fromEntries(parts) } }),
      selectors: words
        .filter(word => word.includes('='))
        .map(word => {
          const [key, value] = word.split('=')
          return { cel: { expression: `device.attributes["d"].${key} == "${value}"` } }
        }),
    }
  })
  if (ways.length === 1) return { name, exactly: ways[0]! }
  return { name, firstAvailable: ways.map((way, index) => ({ ...way, name: `s${index}` })) }
}

/** The allocation for claims on node n1 with these devices in use. */
export function find(
  claims: readonly ResourceClaim[],
  slices: readonly Stored<ResourceSlice>[],
  inUse = new AllocatedDevices(),
): Solution | undefined {
  const node = stored(nodeOf('n1'))
  const pools = gatherPools(node, {
    ofNode: () => slices.filter(({ spec }) => spec.sharedCounters === undefined),
    shared: () => slices.filter(({ spec }) => spec.sharedCounters !== undefined),
    ofPool: () => slices,
  })
  const cache = new SelectorCache(testSelectors)
  const prepared = claims.map(claim => prepareClaim(claim, () => deviceClass))
  return allocateDevices(prepared, {
    pools,
    inUse,
    isSelectable: ({ selectors }, candidate) =>
      selectors.every(selector => cache.isMatch(selector, candidate)) && isUsableOn(candidate, node),
  })
}
