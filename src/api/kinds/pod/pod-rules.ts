/** Rules of Pod and PodTemplate. */
import type { Pod, PodTemplate } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { withPodDefaults, withPodTemplateDefaults } from './pod-defaults.ts'
import {
  prepareEphemeralContainersUpdate,
  preparePodCreate,
  preparePodStatusUpdate,
  preparePodUpdate,
  prepareTemplate,
} from './pod-preparation.ts'
import { prepareResizeUpdate, validateResizeUpdate } from './pod-resize.ts'
import { validatePodStatusUpdate } from './pod-status-validation.ts'
import { validateEphemeralContainersUpdate, validatePodUpdate } from './pod-update-validation.ts'
import { specOf, validatePodCreate } from './pod-validation.ts'
import {
  warningsForAppArmorAnnotations,
  warningsForName,
  warningsForPod,
  warningsForTemplate,
} from './pod-warnings.ts'
import { validatePodTemplate } from './pod-template-validation.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withField, withMissing } from '../../copy-on-write.ts'

export const podRules: KindRules<Pod> = {
  tracksGeneration: true,
  returnDeletedObject: true,
  gracePeriodSeconds,
  withDefaults: withPodDefaults,
  prepareForCreate: preparePodCreate,
  prepareForUpdate: preparePodUpdate,
  prepareForStatusUpdate: preparePodStatusUpdate,
  validate: validatePodCreate,
  validateUpdate: validatePodUpdate,
  validateStatusUpdate: validatePodStatusUpdate,
  subresources: {
    ephemeralcontainers: { merge: ephemeralContainersOf, validate: validateEphemeralContainersUpdate },
    resize: { merge: resizeOf, validate: validateResizeUpdate },
  },
  warningsBeforeCreate: warningsForAppArmorAnnotations,
  warnings(pod, old) {
    if (old !== undefined) return []
    const { metadata } = pod
    return [...warningsForName(metadata.name, "the Pod's hostname"), ...warningsForPod(metadata, specOf(pod))]
  },
  selectableFields: {
    'spec.nodeName': pod => pod.spec?.nodeName ?? '',
    // The name of spec.nodeName in old clients.
    'spec.host': pod => pod.spec?.nodeName ?? '',
    'spec.restartPolicy': pod => pod.spec?.restartPolicy ?? '',
    'spec.schedulerName': pod => pod.spec?.schedulerName ?? '',
    'spec.serviceAccountName': pod => pod.spec?.serviceAccountName ?? '',
    'spec.hostNetwork': pod => String(pod.spec?.hostNetwork ?? false),
    'status.phase': pod => pod.status?.phase ?? '',
    'status.podIP': pod => pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? '',
    'status.nominatedNodeName': pod => pod.status?.nominatedNodeName ?? '',
  },
}

function ephemeralContainersOf(old: Pod, sent: Pod): Pod {
  return prepareEphemeralContainersUpdate(sent, old)
}

function resizeOf(old: Pod, sent: Pod): Pod {
  return prepareResizeUpdate(sent, old)
}

/**
 * Zero for a pod that is not scheduled or has terminated. A negative period, which clients may still send,
 * becomes one second.
 */
function gracePeriodSeconds({ spec, status }: Pod, asked: number | undefined): number {
  const hasEnded = status?.phase === 'Failed' || status?.phase === 'Succeeded'
  if (!spec?.nodeName || hasEnded) return 0
  const seconds = asked ?? Number(spec.terminationGracePeriodSeconds ?? 0)
  return seconds < 0 ? 1 : seconds
}

export const podTemplateRules: KindRules<PodTemplate> = {
  tracksGeneration: true,
  returnDeletedObject: true,
  withDefaults: object =>
    withField(withMissing(object, { template: {} }), 'template', withPodTemplateDefaults),
  prepareForCreate: object => withField(object, 'template', prepareTemplate),
  prepareForUpdate: object => withField(object, 'template', prepareTemplate),
  validate: object => validatePodTemplate('template', object.template ?? {}),
  validateUpdate: object => validatePodTemplate('template', object.template ?? {}),
  warnings(object, old) {
    const isSame = old !== undefined && semanticEqual(object.template, old.template)
    return isSame ? [] : warningsForTemplate('template', object.template)
  },
}
