/** What a containerd left on the machine, each by a key of its own. */
export interface Traces {
  readonly shims: readonly Shim[]
  /** Ids of containers that have a folder among those of running ones. */
  readonly bundles: readonly string[]
  /** Names of files that hold network namespaces. */
  readonly networks: readonly string[]
}

export interface Shim {
  readonly pid: number
  /** The container that it was started for. */
  readonly id: string
}

/** What containerd knows: the ids of its containers, and whether a text is anywhere in what it keeps of them. */
export interface Known {
  readonly ids: ReadonlySet<string>
  mentions(text: string): boolean
}

/** When each stray was first seen, by its key. */
export type Sightings = ReadonlyMap<string, number>

export interface StrayPlan {
  /** Of those that are to be removed now. */
  readonly remove: Traces
  readonly sightings: Sightings
}

/**
 * Strays belong to no container. A containerd that is killed while it makes a pod leaves some, and never finds them
 * again. Whatever is being made just now looks the same for a moment: only what was a stray for a while is removed.
 */
export function planStrays(
  traces: Traces,
  known: Known,
  {
    before,
    nowMs,
    graceMs,
  }: { readonly before: Sightings; readonly nowMs: number; readonly graceMs: number },
): StrayPlan {
  const sightings = new Map<string, number>()
  const isDue = (key: string): boolean => {
    const firstMs = before.get(key) ?? nowMs
    sightings.set(key, firstMs)
    return nowMs - firstMs >= graceMs
  }
  const remove = {
    shims: traces.shims.filter(({ id, pid }) => !known.ids.has(id) && isDue(`shim ${pid} ${id}`)),
    bundles: traces.bundles.filter(id => !known.ids.has(id) && isDue(`bundle ${id}`)),
    networks: traces.networks.filter(name => !known.mentions(name) && isDue(`network ${name}`)),
  }
  return { remove, sightings }
}

/** Of the words of a process: undefined when it is no shim of the containerd with this socket. */
export function shimOf(pid: number, words: readonly string[], socketPath: string): Shim | undefined {
  const after = (flag: string): string | undefined => words[words.indexOf(flag) + 1]
  const isShim = /(?:^|\/)containerd-shim-/.test(words[0] ?? '') && words.includes('-id')
  const id = after('-id')
  if (!isShim || !id || !words.includes('-address') || after('-address') !== socketPath) return undefined
  // One that was asked to start or to delete another does so and ends.
  return words.includes('start') || words.includes('delete') ? undefined : { pid, id }
}
