import type { Shim } from './shims.ts'

/** State that a containerd left on the machine. */
export interface RuntimeRemains {
  readonly shims: readonly Shim[]
  /** Container ids that have a bundle directory. */
  readonly bundles: readonly string[]
  /** Names of network namespace files. */
  readonly networks: readonly string[]
}

/** Containers in containerd's database. `mentions` searches their serialized form for a text. */
export interface KnownContainers {
  readonly ids: ReadonlySet<string>
  mentions(text: string): boolean
}

/** Time of the first sighting of each orphan, by key. */
export type FirstSeen = ReadonlyMap<string, number>

export interface OrphanPlan {
  /** Orphans past their grace period. */
  readonly remove: RuntimeRemains
  readonly firstSeen: FirstSeen
}

/**
 * An orphan is a shim, bundle or network namespace of no known container. A containerd killed during pod
 * creation leaves orphans and never finds them again. Containers in creation look the same for a moment, so
 * orphans are removed only after a grace period.
 */
export function planOrphans(
  remains: RuntimeRemains,
  known: KnownContainers,
  {
    before,
    nowMs,
    graceMs,
  }: { readonly before: FirstSeen; readonly nowMs: number; readonly graceMs: number },
): OrphanPlan {
  const firstSeen = new Map<string, number>()
  const isDue = (key: string): boolean => {
    const firstMs = before.get(key) ?? nowMs
    firstSeen.set(key, firstMs)
    return nowMs - firstMs >= graceMs
  }
  const remove = {
    shims: remains.shims.filter(({ id, pid }) => !known.ids.has(id) && isDue(`shim ${pid} ${id}`)),
    bundles: remains.bundles.filter(id => !known.ids.has(id) && isDue(`bundle ${id}`)),
    networks: remains.networks.filter(name => !known.mentions(name) && isDue(`network ${name}`)),
  }
  return { remove, firstSeen }
}
