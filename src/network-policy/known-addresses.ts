/**
 * Addresses of pods that the kubelet of this process has created and that the API may not show yet. A pod is
 * forgotten when its status has the addresses, or when it is deleted.
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'

interface KnownPod {
  readonly pod: Pod
  readonly addresses: readonly string[]
}

/** Maximum number of pods. The one known longest is forgotten first: its status has its addresses by then. */
const podsMax = 1_000

/** Of the pod of a static manifest, in the API. */
const mirrorAnnotation = 'kubernetes.io/config.mirror'

export class KnownAddresses {
  readonly #pods = new Map<string, KnownPod>()

  /** Returns the keys of pods that are forgotten: those that had one of the addresses, and those above the bound. */
  add(pod: Pod, addresses: readonly string[]): readonly string[] {
    const key = keyOf(pod)
    const replaced = [...this.#pods].filter(([other, known]) => {
      return other !== key && known.addresses.some(address => addresses.includes(address))
    })
    this.#pods.delete(key)
    const [oldest] = this.#pods.keys()
    const surplus = this.#pods.size >= podsMax && oldest !== undefined ? [oldest] : []
    const gone = [...replaced.map(([other]) => other), ...surplus]
    for (const other of gone) this.#pods.delete(other)
    this.#pods.set(key, { pod, addresses })
    return gone
  }

  clear(): void {
    this.#pods.clear()
  }

  keys(): readonly string[] {
    return [...this.#pods.keys()]
  }

  /** The pod was deleted from the API. Another pod may have its name by now. */
  forget(deleted: Pod): void {
    const key = keyOf(deleted)
    const known = this.#pods.get(key)
    if (known && isOf(deleted, known.pod)) this.#pods.delete(key)
  }

  /** The pod, with the addresses that its status lacks; `listed` is the pod in the API. */
  complete(key: string, listed: Pod | undefined): KnownPod | undefined {
    const known = this.#pods.get(key)
    if (listed === undefined || known === undefined)
      return known ?? (listed && { pod: listed, addresses: [] })
    if (!isOf(listed, known.pod)) {
      // Only a newer pod of this name can run on this node: the watch has not shown it yet.
      return known.pod.spec?.nodeName === listed.spec?.nodeName ? known : { pod: listed, addresses: [] }
    }
    const reported = new Set(listed.status?.podIPs?.map(({ ip }) => ip))
    if (!known.addresses.every(address => reported.has(address)))
      return { pod: listed, addresses: known.addresses }
    this.#pods.delete(key)
    return { pod: listed, addresses: [] }
  }
}

/** True if the kubelet's pod is this one, or that of the static manifest of which it is the mirror. */
function isOf(listed: Pod, known: Pod): boolean {
  return (
    listed.metadata.uid === known.metadata.uid ||
    listed.metadata.annotations?.[mirrorAnnotation] !== undefined
  )
}
