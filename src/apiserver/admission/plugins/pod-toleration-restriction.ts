/**
 * Adds the default tolerations of the namespace or cluster to pods, and rejects tolerations outside the
 * whitelist.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podtolerationrestriction
 */
import { structDefinition } from '#/api/definitions.ts'
import { notFound } from '#/api/errors.ts'
import type { Namespace, Pod, Toleration } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { isBestEffort } from '#/api/core/pod-resources.ts'
import { admissionForbidden, type AdmissionPlugin, type AdmissionAttributes } from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import {
  listOf,
  readConfiguration,
  struct,
  versionedStruct,
  type ConfigurationType,
} from '../plugin-configuration.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { podWrites, withSpec } from './pod-spec.ts'
import { areAllowed, mergeTolerations } from './tolerations.ts'

export function podTolerationRestriction(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  const cluster = clusterTolerations(configuration)
  const namespaceOf = async ({ namespace: name }: AdmissionAttributes): Promise<Namespace> => {
    const namespace =
      getCached(context, namespaces, { name }) ?? (await getCachedOrStored(context, namespaces, { name }))
    if (namespace === undefined) throw notFound({ group: '', kind: 'namespaces', name })
    return namespace
  }
  const check = async (request: AdmissionAttributes, pod: Pod): Promise<void> => {
    const own = annotated(request, await namespaceOf(request), allowedAnnotation)
    if (areAllowed(pod.spec?.tolerations ?? [], own ?? cluster.whitelist ?? [])) return
    const scope = own === undefined ? 'cluster' : 'namespace'
    throw admissionForbidden(
      request,
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`,
    )
  }
  return {
    name: 'PodTolerationRestriction',
    handles: podWrites(['CREATE', 'UPDATE']),
    async mutate(request) {
      const pod = request.object as Pod
      const given =
        request.operation === 'CREATE'
          ? (annotated(request, await namespaceOf(request), defaultAnnotation) ?? cluster.default ?? [])
          : []
      const extra = isBestEffort(pod) ? given : [...given, memoryPressure]
      const merged = mergeTolerations(pod.spec?.tolerations ?? [], extra)
      const tolerant = extra.length === 0 ? pod : withSpec(pod, { tolerations: merged })
      await check(request, tolerant)
      return tolerant
    },
    validate: request => check(request, request.object as Pod),
  }
}

const defaultAnnotation = 'scheduler.alpha.kubernetes.io/defaultTolerations'
const allowedAnnotation = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist'

/** Pods that are not BestEffort tolerate nodes under memory pressure. */
const memoryPressure: Toleration = {
  key: 'node.kubernetes.io/memory-pressure',
  operator: 'Exists',
  effect: 'NoSchedule',
}

interface ClusterTolerations {
  readonly default?: readonly Toleration[]
  readonly whitelist?: readonly Toleration[]
}

const tolerations = listOf(structDefinition('core.v1.Toleration'))

const form: ConfigurationType<ClusterTolerations> = {
  name: 'PodTolerationRestriction',
  kind: 'Configuration',
  versions: ['podtolerationrestriction.admission.k8s.io/v1alpha1'],
  schema: versionedStruct('PodTolerationRestriction', { default: tolerations, whitelist: tolerations }),
}

function clusterTolerations(configuration: JsonValue | undefined): ClusterTolerations {
  return configuration === undefined ? {} : readConfiguration(configuration, form)
}

const annotationForm: ConfigurationType<{ readonly tolerations: readonly Toleration[] }> = {
  name: 'a namespace',
  schema: struct('Tolerations', { tolerations }),
}

/** Undefined if the annotation is absent; an empty value is an empty list. */
function annotated(
  request: AdmissionAttributes,
  { metadata }: Namespace,
  annotation: string,
): readonly Toleration[] | undefined {
  const text = metadata.annotations?.[annotation]
  if (text === undefined) return undefined
  if (text === '') return []
  try {
    return readConfiguration({ tolerations: parseJson(text) }, annotationForm).tolerations
  } catch (error) {
    const reason = error instanceof ConfigurationError ? error.message : 'not JSON'
    throw admissionForbidden(request, `invalid annotation ${annotation} of the namespace: ${reason}`)
  }
}
