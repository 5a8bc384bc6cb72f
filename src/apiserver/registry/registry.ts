/** What every handler works with: the kinds served, the objects, and the rules that hold for them. */
import type { Scheme } from '#/api/scheme.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Store } from '#/store/store.ts'
import type { PortRange } from '../allocation/node-ports.ts'
import type { Admission } from '../admission/admission.ts'
import type { ResourceHooks } from './hooks.ts'
import type { ObjectCache } from './object-cache.ts'

export interface Registry {
  readonly platform: Platform
  readonly scheme: Scheme
  readonly store: Store
  readonly cache: ObjectCache
  readonly admission: Admission
  /** By plural and group, `services`, `deployments.apps`. */
  readonly hooks: ReadonlyMap<string, ResourceHooks>
  /** Ports of nodes that services may have; Kubernetes' own choice when absent. */
  readonly nodePorts?: PortRange
}
