/** Allocates devices: combines claims, DeviceClasses and ResourceSlices with the needs of pods. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { DeviceClass, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { deviceClasses, resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import { controllerOf, formatKey, isBeingDeleted, keyOf, type Stored } from '#/api/metadata.ts'
import { compileNodeSelector } from '#/api/selectors/node-selector.ts'
import { resourceClaimNameOf, isClaimUsableByPod } from '#/api/core/pod-resource-claims.ts'
import { quote } from '#/api/text/quote.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import { deviceClassOf, type DeviceClassOf } from '../../device-classes.ts'
import type { PluginHandle, Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { isHopeless } from './binding-conditions.ts'
import { Claims } from './claims.ts'
import { SelectorCache, type DeviceSelectors } from './device-selectors.ts'
import { extendedClaim, extendedResourceClaimAnnotation } from './extended-resources.ts'
import { PodDevices, type DevicesWorld, type AllocatedClaim } from './pod-devices.ts'
import { gatherPools, isUsableOn, type Pool, type SlicesWorld } from './pools.ts'
import { prepareClaim, waysOf, type PreparedClaim } from './prepare-claims.ts'
import { allocateDevices, type Solution } from './allocate-devices.ts'

export class DeviceAllocator {
  readonly claims: Claims
  /** Timeout for the binding conditions of devices. */
  readonly timeoutMs: number
  readonly informer: Informer<ResourceClaim>
  readonly #handle: PluginHandle
  readonly #classes: Informer<DeviceClass>
  readonly #classOf: DeviceClassOf
  readonly #selectors: SelectorCache
  readonly #slices: SlicesWorld
  /** Claims created for extended resources, by pod uid. */
  readonly #madeFor: Index<Stored<ResourceClaim>>

  constructor(handle: PluginHandle, selectors: DeviceSelectors, timeoutMs: number) {
    this.#handle = handle
    this.timeoutMs = timeoutMs
    this.informer = handle.informer(resourceClaims)
    this.claims = new Claims(this.informer)
    this.#classes = handle.informer(deviceClasses)
    this.#classOf = deviceClassOf(handle)
    this.#selectors = new SelectorCache(selectors)
    this.#madeFor = this.informer.index('made for', claim => {
      const owner = controllerOf(claim)
      const isMade = claim.metadata.annotations?.[extendedResourceClaimAnnotation] === 'true'
      return isMade && owner?.kind === 'Pod' ? [owner.uid] : []
    })
    this.#slices = slicesWorld(handle)
  }

  /** The claims of a pod, or the reason why one is not usable yet. */
  claimsOf(pod: Stored<Pod>): { readonly claims: readonly Stored<ResourceClaim>[] } | Unschedulable {
    const claims: Stored<ResourceClaim>[] = []
    const { namespace = '', name: podName } = pod.metadata
    const unresolvable = (reason: string): Unschedulable => ({ reason, isUnresolvable: true })
    for (const entry of pod.spec?.resourceClaims ?? []) {
      const known = resourceClaimNameOf(pod, entry)
      if (known === 'not-needed') continue
      if (known === 'pending')
        return unresolvable(`pod "${namespace}/${podName}": ResourceClaim not created yet`)
      const key = formatKey({ namespace, name: known.name })
      const claim = this.claims.get(key)
      if (claim === undefined) return unresolvable(`could not find ResourceClaim ${quote(key)}`)
      if (isBeingDeleted(claim)) return unresolvable(`resourceclaim ${quote(known.name)} is being deleted`)
      if (!isClaimUsableByPod(claim, pod, known.isGenerated)) {
        const what = `ResourceClaim ${key} was not created for Pod ${namespace}/${podName}`
        return unresolvable(`${what} (Pod is not owner)`)
      }
      claims.push(claim)
    }
    return { claims }
  }

  /** Undefined if the pod needs no devices; a status if no node can provide them. */
  devicesFor(pod: PodInfo): PodDevices | Unschedulable | undefined {
    const resources = this.#resourcesOf(pod)
    if (pod.pod.spec?.resourceClaims === undefined && resources.length === 0) return undefined
    const found = this.claimsOf(pod.pod)
    if ('reason' in found) return found
    const { claims } = found
    if (claims.length === 0 && resources.length === 0) return undefined
    const unallocated = claims.filter(({ status }) => status?.allocation === undefined)
    const problem = unallocated.map(claim => this.#problemWith(claim)).find(reason => reason !== undefined)
    if (problem !== undefined) return { reason: problem, isUnresolvable: true }
    const needs = {
      pod,
      resources,
      allocatedClaims: claims.flatMap(claim => this.#allocated(claim)),
      claimsToAllocate: unallocated.map(claim => this.#prepare(claim)),
      staleClaim: resources.length === 0 ? undefined : this.#madeFor.get(pod.uid)[0],
    }
    return new PodDevices(needs, this.#worldFor(pod))
  }

  #worldFor(pod: PodInfo): DevicesWorld {
    let looked: { readonly node: string; readonly pools: readonly Pool[] } | undefined
    const poolsOf = (node: NodeInfo): readonly Pool[] => {
      if (looked?.node !== node.name)
        looked = { node: node.name, pools: gatherPools(node.node, this.#slices) }
      return looked.pools
    }
    return {
      classOf: this.#classOf,
      find: (claims, node) => this.#find(claims, node, poolsOf(node)),
      prepareExtended: requests => this.#prepare(extendedClaim(pod.pod, requests)),
      hasInvalidPool: node => poolsOf(node).some(({ state }) => state === 'invalid'),
    }
  }

  #find(claims: readonly PreparedClaim[], { node }: NodeInfo, pools: readonly Pool[]): Solution | undefined {
    return allocateDevices(claims, {
      pools,
      inUse: this.claims.allocated,
      isSelectable: ({ selectors }, candidate) => {
        const isMatch = selectors.every(selector => this.#selectors.isMatch(selector, candidate))
        return isMatch && isUsableOn(candidate, node)
      },
    })
  }

  #prepare(claim: ResourceClaim): PreparedClaim {
    return prepareClaim(claim, name => this.#classes.get(name))
  }

  /** The extended resources of the pod, if a DeviceClass provides at least one of them. */
  #resourcesOf({ requests }: PodInfo): readonly string[] {
    if (requests.scalarResources.size === 0) return none
    const names = [...requests.scalarResources].filter(([, amount]) => amount > 0).map(([name]) => name)
    const extended = names.filter(name => name.includes('/'))
    return extended.some(name => this.#classOf(name) !== undefined) ? extended : none
  }

  #allocated(claim: Stored<ResourceClaim>): readonly AllocatedClaim[] {
    const allocation = claim.status?.allocation
    if (allocation === undefined) return []
    const selector = allocation.nodeSelector
    const nowMs = this.#handle.platform.clock.now()
    return [
      {
        claim,
        isOn: selector && compileNodeSelector(selector),
        isBindingFailed: isHopeless(claim, this.timeoutMs, nowMs),
      },
    ]
  }

  #problemWith(claim: Stored<ResourceClaim>): string | undefined {
    const key = keyOf(claim)
    if (this.claims.isPending(claim.metadata.uid))
      return `resource claim ${key} is in the process of being allocated`
    for (const request of claim.spec.devices?.requests ?? []) {
      const ways = waysOf(request)
      if (ways.length === 0) return `resource claim ${key}, request ${request.name}: unknown request type`
      for (const way of ways) {
        if (this.#classes.get(way.deviceClassName) !== undefined) continue
        const name = 'name' in way ? `${request.name}/${way.name}` : request.name
        return `request ${name}: device class ${way.deviceClassName} does not exist`
      }
    }
    return undefined
  }
}

const none: readonly string[] = []

/** Index key of slices for several nodes; not a valid node name. */
const manyNodes = '/'

function slicesWorld(handle: PluginHandle): SlicesWorld {
  const slices = handle.informer(resourceSlices)
  const byNode = slices.index('node', ({ spec }) => {
    return [spec.nodeName && (spec.sharedCounters ?? []).length === 0 ? spec.nodeName : manyNodes]
  })
  const byPool = slices.index('pool', ({ spec }) => [`${spec.driver}/${spec.pool.name}`])
  return {
    ofNode: node => byNode.get(node),
    shared: () => byNode.get(manyNodes),
    ofPool: (driver, pool) => byPool.get(`${driver}/${pool}`),
  }
}
