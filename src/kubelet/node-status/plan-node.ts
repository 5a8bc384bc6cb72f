/** A node as it is registered. */
import type { Node } from '#/api/generated/core/v1.ts'
import type { MachineInfo } from '#/platform/linux.ts'
import type { NodeSettings } from '../node-settings.ts'

/** As the node first says that it is there. Its status follows at once. */
export function planNode(node: NodeSettings, { architecture }: Pick<MachineInfo, 'architecture'>): Node {
  const { name, registerTaints, podCidr } = node
  return {
    metadata: { name, labels: { ...systemLabels(name, architecture), ...node.labels }, annotations },
    spec: {
      ...(podCidr !== undefined && { podCIDR: podCidr, podCIDRs: [podCidr] }),
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

/** What is wrong or missing in a node that is there since an earlier start; others may have added to it. */
export function missingMetadata(known: Node, wanted: Node): Node['metadata'] | undefined {
  const labels = differing(known.metadata?.labels, wanted.metadata?.labels)
  const ownAnnotations = differing(known.metadata?.annotations, wanted.metadata?.annotations)
  if (Object.keys(labels).length + Object.keys(ownAnnotations).length === 0) return undefined
  return { labels, annotations: ownAnnotations }
}

type Texts = Readonly<Record<string, string>>

function differing(known: Texts = {}, wanted: Texts = {}): Texts {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => known[name] !== value))
}

/** Volumes are attached by the controller for that, not by the kubelet. */
const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
