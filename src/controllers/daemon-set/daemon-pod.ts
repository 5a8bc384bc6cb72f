import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Affinity, Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { parseInt64 } from '#/api/text/int64.ts'
import { podFromTemplate } from '../pods.ts'
import { daemonTolerations } from './eligibility.ts'

/** Label on pods and revisions that identifies the pod template. */
export const hashLabel = 'controller-revision-hash'

/** The pod of a DaemonSet for one node. The scheduler binds it; the affinity allows only that node. */
export function daemonPod(set: Stored<DaemonSet>, nodeName: string, hash: string): Pod {
  const { metadata, spec = { containers: [] } } = podFromTemplate(set.spec?.template ?? {}, set)
  const generation = templateGeneration(set)
  return {
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
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

/** The node that a pod is bound to, or that its affinity names. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const named = required?.nodeSelectorTerms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === 'metadata.name' && operator === 'In')
  return named?.values?.length === 1 ? named.values[0] : undefined
}

/**
 * True if the pod has the DaemonSet's current template, according to the revision hash or the template
 * generation.
 */
export function isUpToDate(pod: Pod, set: DaemonSet, hash: string): boolean {
  const labels = pod.metadata.labels
  if (hash !== '' && labels?.[hashLabel] === hash) return true
  const generation = templateGeneration(set)
  return generation !== undefined && labels?.[generationLabel] === generation
}

const generationLabel = 'pod-template-generation'
const generationAnnotation = 'deprecated.daemonset.template.generation'

function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const generation = parseInt64(metadata.annotations?.[generationAnnotation] ?? '')
  return generation === undefined ? undefined : String(generation)
}

/** Replaces the template's required node affinity, which the node already satisfies. */
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
