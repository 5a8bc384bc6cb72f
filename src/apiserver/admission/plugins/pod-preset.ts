/**
 * Injects the env, volumes and mounts of matching PodPresets into new pods; if they conflict with each other
 * or with the pod, none is applied. Kubernetes removed this plugin in 1.20. The PodPreset kind is served only
 * while the plugin is enabled. https://v1-19.docs.kubernetes.io/docs/concepts/workloads/pods/podpreset/
 */
import type {
  Container,
  EnvFromSource,
  Pod,
  PodSpec,
  EnvVar,
  Volume,
  VolumeMount,
} from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { compileLabelSelector, validateLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import type { Stored, KubernetesObject } from '#/api/metadata.ts'
import { structDefinition } from '#/api/definitions.ts'
import { required, type FieldError } from '#/api/field-error.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { Resource } from '#/api/resource.ts'
import type { AdmissionPlugin } from '../admission-chain.ts'
import { listCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'
import { isMirror, podWrites, specOf, withSpec } from './pod-spec.ts'
import { listOf, struct, versionedStruct } from '../plugin-configuration.ts'

export function podPreset(context: PluginContext): AdmissionPlugin {
  context.scheme.register(podPresets)
  return {
    name: 'PodPreset',
    handles: podWrites(['CREATE']),
    mutate({ object, namespace }) {
      const pod = object as Pod
      if (isMirror(pod) || pod.metadata.annotations?.[optOutAnnotation] === 'true') return pod
      const presets = listCached(context, podPresets, namespace).filter(preset =>
        compileLabelSelector(preset.spec?.selector ?? {}).matches(pod.metadata.labels),
      )
      return presets.length === 0 ? pod : (applied(pod, presets) ?? pod)
    },
  }
}

const optOutAnnotation = 'podpreset.admission.kubernetes.io/exclude'
const appliedPrefix = 'podpreset.admission.kubernetes.io/podpreset-'

/** Undefined on a merge conflict. */
function applied(pod: Pod, presets: readonly Stored<PodPreset>[]): Pod | undefined {
  try {
    const marks = presets.map(({ metadata }) => [
      `${appliedPrefix}${metadata.name}`,
      metadata.resourceVersion,
    ])
    const annotations = { ...pod.metadata.annotations, ...Object.fromEntries(marks) }
    return { ...withSpec(pod, mergedSpec(specOf(pod), presets)), metadata: { ...pod.metadata, annotations } }
  } catch (error) {
    if (error instanceof Contradiction) return undefined
    throw error
  }
}

class Contradiction extends Error {}

function mergedSpec(
  { volumes = [], containers, initContainers }: PodSpec,
  presets: readonly PodPreset[],
): Partial<PodSpec> {
  const all = presets.map(preset => preset.spec ?? {})
  const merge = (container: Container): Container => ({
    ...container,
    ...some(
      'env',
      merged(
        container.env ?? [],
        all.flatMap(spec => spec.env ?? []),
        [each => each.name],
      ),
    ),
    ...some(
      'envFrom',
      merged(
        container.envFrom ?? [],
        all.flatMap(spec => spec.envFrom ?? []),
        [sourceOf],
      ),
    ),
    ...some(
      'volumeMounts',
      merged(
        container.volumeMounts ?? [],
        all.flatMap(spec => spec.volumeMounts ?? []),
        [each => each.name, each => each.mountPath],
      ),
    ),
  })
  return {
    containers: containers.map(merge),
    ...(initContainers && { initContainers: initContainers.map(merge) }),
    ...some(
      'volumes',
      merged(
        volumes,
        all.flatMap(spec => spec.volumes ?? []),
        [each => each.name],
      ),
    ),
  }
}

function some<K extends string, T>(name: K, list: readonly T[]): { readonly [P in K]?: readonly T[] } {
  return list.length === 0 ? {} : ({ [name]: list } as { readonly [P in K]?: readonly T[] })
}

/**
 * Appends preset items to the pod's. Items that share any key must be equal; otherwise throws Contradiction.
 */
function merged<T>(
  own: readonly T[],
  preset: readonly T[],
  keys: readonly ((item: T) => string)[],
): readonly T[] {
  const result = [...own]
  for (const item of preset) {
    const known = result.filter(each => keys.some(key => key(each) === key(item)))
    if (known.some(each => !equalJson(each, item))) throw new Contradiction()
    if (known.length === 0) result.push(item)
  }
  return result
}

function sourceOf({ prefix = '', configMapRef, secretRef }: EnvFromSource): string {
  return JSON.stringify([prefix, configMapRef?.name, secretRef?.name])
}

interface PodPreset extends KubernetesObject {
  readonly spec?: PodPresetSpec
}

interface PodPresetSpec {
  readonly selector?: LabelSelector
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly EnvFromSource[]
  readonly volumes?: readonly Volume[]
  readonly volumeMounts?: readonly VolumeMount[]
}

const rules: KindRules<PodPreset> = { validate, validateUpdate: validate }

const definition = 'io.k8s.api.settings.v1alpha1.PodPreset'

/** The resource as served by Kubernetes 1.19. */
const podPresets: Resource<PodPreset> = {
  group: 'settings.k8s.io',
  version: 'v1alpha1',
  kind: 'PodPreset',
  listKind: 'PodPresetList',
  plural: 'podpresets',
  singular: 'podpreset',
  scope: 'Namespaced',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: new Map(),
  storage: { group: 'settings.k8s.io', version: 'v1alpha1' },
  rules,
  schema: versionedStruct(definition, {
    metadata: structDefinition('meta.v1.ObjectMeta'),
    spec: struct(`${definition}Spec`, {
      selector: structDefinition('meta.v1.LabelSelector'),
      env: listOf(structDefinition('core.v1.EnvVar')),
      envFrom: listOf(structDefinition('core.v1.EnvFromSource')),
      volumes: listOf(structDefinition('core.v1.Volume')),
      volumeMounts: listOf(structDefinition('core.v1.VolumeMount')),
    }),
  }),
}

function validate({ spec = {} }: PodPreset): FieldError[] {
  const { selector, env, envFrom, volumes, volumeMounts } = spec
  const errors = validateLabelSelector('spec.selector', selector ?? {})
  if (env ?? envFrom ?? volumes ?? volumeMounts) return errors
  return [...errors, required('spec.volumes.env.envFrom.volumeMounts', 'must specify at least one')]
}
