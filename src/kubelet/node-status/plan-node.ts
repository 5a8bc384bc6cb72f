/** The node object at registration. */
import type { Node } from '#/api/generated/core/v1.ts'
import type { HostInfo } from '#/platform/linux.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'

/** The initial object; its status follows immediately. */
export function planNode(node: KubeletConfiguration, { architecture }: Pick<HostInfo, 'architecture'>): Node {
  const { name, registerTaints, podCidr, providerId } = node
  return {
    metadata: { name, labels: { ...systemLabels(name, architecture), ...node.labels }, annotations },
    spec: {
      ...(podCidr !== undefined && { podCIDR: podCidr, podCIDRs: [podCidr] }),
      ...(providerId !== undefined && { providerID: providerId }),
      ...(registerTaints.length > 0 && { taints: registerTaints }),
    },
  }
}

function systemLabels(name: string, architecture: string): Readonly<Record<string, string>> {
  return {
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': architecture,
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
  }
}

/** Labels and annotations that differ in a node registered earlier. Additional ones are kept. */
export function missingMetadata(known: Node, wanted: Node): Node['metadata'] | undefined {
  const labels = differing(known.metadata.labels, wanted.metadata.labels)
  const ownAnnotations = differing(known.metadata.annotations, wanted.metadata.annotations)
  if (Object.keys(labels).length + Object.keys(ownAnnotations).length === 0) return undefined
  return { labels, annotations: ownAnnotations }
}

type Texts = Readonly<Record<string, string>>

function differing(known: Texts = {}, wanted: Texts = {}): Texts {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => known[name] !== value))
}

/** The attach/detach controller attaches volumes, not the kubelet. */
const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
