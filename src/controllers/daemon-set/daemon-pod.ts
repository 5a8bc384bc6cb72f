import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Affinity, Pod } from '#/api/generated/core/v1.ts'
import { parseInt64 } from '#/api/int64.ts'
import { podFromTemplate } from '../pods.ts'
import { daemonTolerations } from './eligibility.ts'

/** Pods and revisions say with it which template they have. */
export const hashLabel = 'controller-revision-hash'

/** The pod of a set for one node. It is the scheduler that puts it there; the affinity leaves it no choice. */
export function daemonPod(set: DaemonSet, nodeName: string, hash: string): Pod {
  const { metadata, spec = { containers: [] } } = podFromTemplate(set.spec?.template ?? {}, set)
  const generation = templateGeneration(set)
  return {
    metadata: {
      ...metadata,
      labels: {
        ...metadata?.labels,
        [hashLabel]: hash,
        ...(generation !== undefined && { [generationLabel]: generation }),
      },
    },
    spec: {
      ...spec,
      tolerations: daemonTolerations(spec),
      affinity: onlyOn(nodeName, spec.affinity),
    },
  }
}

/** The node that a pod is on, or meant for. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const named = required?.nodeSelectorTerms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === 'metadata.name' && operator === 'In')
  return named?.values?.length === 1 ? named.values[0] : undefined
}

/**
 * Whether a pod has the template that the set has now. The number of the template tells it too: revisions may come and
 * go with no change of the template.
 */
export function isUpToDate(pod: Pod, set: DaemonSet, hash: string): boolean {
  const labels = pod.metadata?.labels
  if (hash !== '' && labels?.[hashLabel] === hash) return true
  const generation = templateGeneration(set)
  return generation !== undefined && labels?.[generationLabel] === generation
}

const generationLabel = 'pod-template-generation'
const generationAnnotation = 'deprecated.daemonset.template.generation'

function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const generation = parseInt64(metadata?.annotations?.[generationAnnotation] ?? '')
  return generation === undefined ? undefined : String(generation)
}

/** In place of what the template requires of nodes, which this node has. */
function onlyOn(nodeName: string, affinity: Affinity = {}): Affinity {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }]
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  }
}
