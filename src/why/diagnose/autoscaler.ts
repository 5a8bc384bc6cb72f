import { conditionOf, type Condition } from '#/api/conditions.ts'
import type { HorizontalPodAutoscaler } from '#/api/generated/autoscaling/v2.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Cause } from '../diagnosis.ts'
import type { Snapshot } from '../collect/snapshot.ts'
import { counted, healthy, kubectl, nameOf, ofCondition, ofObject, remedy, trimmed } from './phrases.ts'

/** Why a HorizontalPodAutoscaler does not scale. */
export function diagnoseAutoscaler(snapshot: Snapshot, autoscaler: Stored<HorizontalPodAutoscaler>): Cause {
  const { minReplicas = 1, maxReplicas } = autoscaler.spec ?? {}
  const { conditions, currentReplicas = 0, desiredReplicas = 0 } = autoscaler.status ?? {}
  const name = nameOf(autoscaler)
  const target = targetOf(autoscaler)
  const evidence = (conditions ?? []).map(condition => ofCondition(autoscaler, condition))
  const edit = kubectl(snapshot.namespace, 'edit', 'horizontalpodautoscaler', autoscaler.metadata.name)
  if (snapshot.scaleTarget === 'missing') {
    return {
      code: 'MissingObject',
      summary: `${name} does not scale, since its target ${target.text} does not exist.`,
      evidence,
      remedies: [remedy('Correct scaleTargetRef, or create the target:', edit)],
    }
  }
  const active = conditionOf(conditions, 'ScalingActive')
  if (active?.status === 'False') return { ...inactive(autoscaler, active), evidence }
  const able = conditionOf(conditions, 'AbleToScale')
  if (able?.status === 'False') {
    return {
      code: 'Unknown',
      summary: `${name} does not scale: ${trimmed(able.message ?? able.reason ?? '')}.`,
      evidence,
      remedies: [remedy('Correct the autoscaler or its target:', edit)],
    }
  }
  const limited = conditionOf(conditions, 'ScalingLimited')
  const limits: Readonly<Record<string, string>> = {
    TooManyReplicas: `maxReplicas is ${maxReplicas ?? ''}, and its metrics ask for more`,
    TooFewReplicas: `minReplicas is ${minReplicas}, and its metrics ask for fewer`,
  }
  const limit = limited?.status === 'True' ? limits[limited.reason ?? ''] : undefined
  if (limit !== undefined) {
    return {
      code: 'Paused',
      summary: `${name} keeps ${counted(desiredReplicas, 'replica')}, since ${limit}.`,
      evidence,
      remedies: [remedy('Change the limit, if that is not intended:', edit)],
    }
  }
  const text = `${name} scales ${target.text}: it has ${counted(currentReplicas, 'replica')} and wants`
  return healthy(`${text} ${desiredReplicas}.`, [
    ofObject(autoscaler, `between ${minReplicas} and ${maxReplicas ?? ''} replicas`),
    ...evidence,
  ])
}

interface ScaleTarget {
  /** `Deployment shop/web`. */
  readonly text: string
  /** As words of a command. */
  readonly kind: string
  readonly name: string
}

function targetOf({ spec, metadata }: HorizontalPodAutoscaler): ScaleTarget {
  const { kind, name } = spec?.scaleTargetRef ?? { kind: '', name: '' }
  return { text: `${kind} ${metadata.namespace ?? ''}/${name}`, kind: kind.toLowerCase(), name }
}

/** The condition ScalingActive is False. */
function inactive(autoscaler: Stored<HorizontalPodAutoscaler>, active: Condition): Omit<Cause, 'evidence'> {
  const heading = `${nameOf(autoscaler)} does not scale`
  const { namespace } = autoscaler.metadata
  const { text, kind, name } = targetOf(autoscaler)
  if (active.reason === 'ScalingDisabled') {
    return {
      code: 'Paused',
      summary: `${heading}, since ${text} has 0 replicas.`,
      remedies: [remedy('Start it:', kubectl(namespace, 'scale', `${kind}/${name}`, '--replicas=1'))],
    }
  }
  const message = active.message ?? ''
  const resource = /missing request for (?<resource>[\w./-]+)/.exec(message)?.groups?.['resource']
  if (resource !== undefined) {
    return {
      code: 'Metrics',
      summary: `${heading}: it needs the utilization of ${resource}, of which containers of ${text} request none.`,
      remedies: [
        remedy(
          `Set resources.requests.${resource} of each container:`,
          kubectl(namespace, 'edit', kind, name),
        ),
      ],
    }
  }
  return {
    code: 'Metrics',
    summary: `${heading}, since it gets no metrics: ${trimmed(message)}.`,
    remedies: [
      remedy('Check that the metrics API answers:', 'kubectl get apiservices v1beta1.metrics.k8s.io'),
      remedy('And that pods have metrics:', kubectl(namespace, 'top', 'pods')),
    ],
  }
}
