/** The pods that a kubelet runs: from the API server or from static manifests. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { ObjectMeta, Stored } from '#/api/metadata.ts'

/** A static pod is not stored, but has a name, a namespace and a UID as every pod of the kubelet. */
export type KubeletPod = Pod & { readonly metadata: KubeletPodMeta }

export interface KubeletPodMeta extends ObjectMeta {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

/** True for every stored pod, since pods are namespaced. */
export function isNamespaced(pod: Stored<Pod>): pod is Stored<KubeletPod> {
  return pod.metadata.namespace !== undefined
}

/** Pod name in messages: `web_default(5a8e...)`. */
export function formatPod({ metadata }: KubeletPod): string {
  const { name, namespace, uid } = metadata
  return `${name}_${namespace}(${uid})`
}
