/** Server-controlled fields of a pod: the initial status, and fields of disabled features. */
import type {
  Affinity,
  Container,
  EphemeralContainer,
  Pod,
  PodAffinity,
  PodAffinityTerm,
  PodCondition,
  PodSpec,
  PodStatus,
  PodTemplateSpec,
  VolumeProjection,
} from '../../generated/core/v1.ts'
import { labelOf, type Labels } from '../../labels.ts'
import { computedQosClass } from '../../core/qos-class.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../../selectors/selector.ts'
import { withContainers } from '../../core/pod-containers.ts'
import { appArmorPrefix } from './pod-annotation-validation.ts'
import { specOf } from './pod-validation.ts'
import { validateAppArmorProfile } from './security-context-validation.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { mapCopyOnWrite, withField, withoutField } from '../../copy-on-write.ts'

export function preparePodCreate(pod: Pod): Pod {
  const spec = withAppArmorFields(withLabelKeys(dropDisabledFields(specOf(pod)), pod.metadata.labels), pod)
  const { creationTimestamp } = pod.metadata
  const gated: PodCondition = {
    type: 'PodScheduled',
    status: 'False',
    ...(pod.metadata.creationTimestamp && { lastTransitionTime: pod.metadata.creationTimestamp }),
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
    ...(creationTimestamp && { lastTransitionTime: creationTimestamp }),
  }
  const status: PodStatus = {
    ...(spec.schedulingGates?.length && { conditions: [gated] }),
    phase: 'Pending',
    qosClass: computedQosClass(spec),
  }
  return { ...pod, spec, status }
}

export function preparePodUpdate(pod: Pod): Pod {
  return withField(pod, 'spec', dropDisabledFields)
}

/** The old pod with the new ephemeral containers. */
export function prepareEphemeralContainersUpdate(pod: Pod, old: Pod): Pod {
  const { ephemeralContainers } = specOf(pod)
  const { ephemeralContainers: _, ...rest } = specOf(old)
  const { managedFields } = pod.metadata
  const spec = dropDisabledFields({ ...rest, ...(ephemeralContainers && { ephemeralContainers }) })
  return { ...old, metadata: { ...old.metadata, ...(managedFields && { managedFields }) }, spec }
}

export function preparePodStatusUpdate(pod: Pod, old: Pod): Pod {
  return withField(pod, 'status', status => {
    const { qosClass, observedGeneration, conditions } = old.status ?? {}
    let result = withPodIps(status)
    if (!result.qosClass && qosClass) result = { ...result, qosClass }
    if (!result.observedGeneration && observedGeneration) result = { ...result, observedGeneration }
    return withField(result, 'conditions', list => withConditionGenerations(list, conditions ?? []))
  })
}

/** Drops fields of alpha features and of beta features that are off. */
function dropDisabledFields(spec: PodSpec): PodSpec {
  const { schedulingGroup: _, ...rest } = spec
  const ungrouped = spec.schedulingGroup === undefined ? spec : rest
  const plain = withField(ungrouped, 'volumes', list =>
    mapCopyOnWrite(list, volume => {
      return withField(volume, 'projected', projected => {
        return withField(projected, 'sources', sources => mapCopyOnWrite(sources, dropDisabledSources))
      })
    }),
  )
  return withContainers(plain, container =>
    withField(container, 'lifecycle', lifecycle => {
      return withoutField(lifecycle, 'stopSignal')
    }),
  )
}

export function prepareTemplate(template: PodTemplateSpec): PodTemplateSpec {
  return withField(template, 'spec', dropDisabledFields)
}

function dropDisabledSources(source: VolumeProjection): VolumeProjection {
  const plain: VolumeProjection = withoutField(source, 'clusterTrustBundle')
  return withoutField(plain, 'podCertificate')
}

/** `podIP` mirrors the first entry of `podIPs`, for old clients. */
function withPodIps(status: PodStatus): PodStatus {
  const { podIP, podIPs = [] } = status
  const first = podIPs[0]?.ip
  if (podIP && podIP !== first) return { ...status, podIPs: [{ ip: podIP }] }
  return first && podIP !== first ? { ...status, podIP: first } : status
}

/** Keeps `observedGeneration` of conditions if the client omits it. */
function withConditionGenerations(
  conditions: readonly PodCondition[],
  old: readonly PodCondition[],
): readonly PodCondition[] {
  const known = new Map(old.map(condition => [condition.type, condition.observedGeneration]))
  return mapCopyOnWrite(conditions, condition => {
    const observedGeneration = known.get(condition.type)
    return condition.observedGeneration || !observedGeneration
      ? condition
      : { ...condition, observedGeneration }
  })
}

/**
 * Merges `matchLabelKeys` and `mismatchLabelKeys` into label selectors with the current labels of the pod.
 */
function withLabelKeys(spec: PodSpec, labels: Labels | undefined): PodSpec {
  const spread = withField(spec, 'topologySpreadConstraints', list =>
    mapCopyOnWrite(list, constraint => {
      return withField(constraint, 'labelSelector', selector => {
        return withRequirements(selector, requirementsOf(constraint.matchLabelKeys, 'In', labels))
      })
    }),
  )
  return withField(spread, 'affinity', affinity => withAffinityKeys(affinity, labels))
}

function withAffinityKeys(affinity: Affinity, labels: Labels | undefined): Affinity {
  const complete = (term: PodAffinityTerm): PodAffinityTerm =>
    withField(term, 'labelSelector', selector => {
      const matching = requirementsOf(term.matchLabelKeys, 'In', labels)
      return withRequirements(selector, [
        ...matching,
        ...requirementsOf(term.mismatchLabelKeys, 'NotIn', labels),
      ])
    })
  const completeAll = (each: PodAffinity): PodAffinity => {
    const needed = withField(each, 'requiredDuringSchedulingIgnoredDuringExecution', list =>
      mapCopyOnWrite(list, complete),
    )
    return withField(needed, 'preferredDuringSchedulingIgnoredDuringExecution', list =>
      mapCopyOnWrite(list, weighted => {
        return withField(weighted, 'podAffinityTerm', complete)
      }),
    )
  }
  return withField(withField(affinity, 'podAffinity', completeAll), 'podAntiAffinity', completeAll)
}

function requirementsOf(
  keys: readonly string[] | undefined,
  operator: 'In' | 'NotIn',
  labels: Labels | undefined,
): LabelSelectorRequirement[] {
  return (keys ?? []).flatMap(key => {
    const value = labelOf(labels, key)
    return value === undefined ? [] : [{ key, operator, values: [value] }]
  })
}

function withRequirements(
  selector: LabelSelector,
  added: readonly LabelSelectorRequirement[],
): LabelSelector {
  if (added.length === 0) return selector
  return { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...added] }
}

/** Converts the legacy AppArmor annotations to fields. */
function withAppArmorFields(spec: PodSpec, { metadata }: Pod): PodSpec {
  const { annotations } = metadata
  if (annotations === undefined || spec.os?.name === 'windows') return spec
  return withContainers(spec, <C extends Container | EphemeralContainer>(container: C): C => {
    const annotation = annotations[appArmorPrefix + container.name]
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined) return container
    const appArmorProfile = appArmorFieldOf(annotation)
    const isKnown = semanticEqual(appArmorProfile, spec.securityContext?.appArmorProfile)
    if (appArmorProfile === undefined || isKnown) return container
    return { ...container, securityContext: { ...container.securityContext, appArmorProfile } }
  })
}

/** The profile for an annotation value; undefined if it is invalid. */
export function appArmorFieldOf(annotation: string): { type: string; localhostProfile?: string } | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith('localhost/')) return undefined
  const profile = { type: 'Localhost', localhostProfile: annotation.slice('localhost/'.length) }
  return validateAppArmorProfile('', profile).length === 0 ? profile : undefined
}
