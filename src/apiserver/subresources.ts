/** Subresources with their own handlers. */
import type { VerbHandlers } from './router.ts'
import { binding } from './subresources/binding.ts'
import { eviction } from './subresources/eviction.ts'
import { scale } from './subresources/scale.ts'

export const subresources: ReadonlyMap<string, VerbHandlers> = new Map<string, VerbHandlers>([
  ['deployments.apps/scale', scale],
  ['pods/binding', binding],
  ['pods/eviction', eviction],
  ['replicasets.apps/scale', scale],
  ['replicationcontrollers/scale', scale],
  ['statefulsets.apps/scale', scale],
])
