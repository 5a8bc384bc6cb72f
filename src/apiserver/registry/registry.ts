/** Dependencies of all handlers: the scheme, the store and cache, admission and hooks. */
import type { Scheme } from '#/api/scheme.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import type { PortRange } from '../allocation/node-ports.ts'
import type { AdmissionChain } from '../admission/admission-chain.ts'
import type { ResourceHooks } from './hooks.ts'
import type { WatchCache } from './watch-cache.ts'

export interface Registry {
  readonly platform: Platform
  readonly scheme: Scheme
  readonly store: Store
  readonly cache: WatchCache
  readonly admission: AdmissionChain
  /** By qualified resource name: `services`, `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, ResourceHooks>
  /** Node port range of services; Kubernetes' default when absent. */
  readonly nodePorts?: PortRange
}
