/** Dependencies of all handlers: the scheme, the store and cache, admission and hooks. */
import type { Scheme } from '#/api/scheme.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import type { PortRange } from '../allocation/node-ports.ts'
import type { AdmissionChain } from '../admission/admission-chain.ts'
import type { Metrics } from '../metrics.ts'
import type { ObjectHistory } from '../object-history.ts'
import type { RequestContext } from '../request.ts'
import type { ActiveWatch } from './active-watch.ts'
import type { GenericHooks, ResourceHooks } from './hooks.ts'
import type { ObjectCache } from './watch-cache.ts'

export interface Registry {
  readonly platform: Platform
  readonly scheme: Scheme
  readonly store: Store
  readonly cache: ObjectCache
  readonly admission: AdmissionChain
  /** The watches that are being served. */
  readonly watches: Set<ActiveWatch>
  /** By qualified resource name: `services`, `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, ResourceHooks>
  readonly genericHooks?: GenericHooks
  /** Absent when metrics are not recorded. */
  readonly metrics?: Metrics
  /** Absent when no history is kept. */
  readonly history?: ObjectHistory
  /** Node port range of services; Kubernetes' default when absent. */
  readonly nodePorts?: PortRange
}

/** Changes how the objects of all resources are read and written. */
export interface RegistryExtension {
  /** For all components, and for the requests that `isUnfiltered` does not select. */
  readonly filtered: Pick<Registry, 'cache' | 'genericHooks'>
  readonly unfiltered: Pick<Registry, 'cache' | 'genericHooks'>
  readonly isUnfiltered: (context: RequestContext) => boolean
}
