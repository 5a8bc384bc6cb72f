/** The PodPreset resource as served by Kubernetes 1.19. */
import { structDefinition } from '#/api/definitions.ts'
import { required, type FieldError } from '#/api/field-error.ts'
import type { EnvFromSource, EnvVar, Volume, VolumeMount } from '#/api/generated/core/v1.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { validateLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import { listOf, struct, versionedStruct } from '../../plugin-configuration.ts'

export interface PodPreset extends KubernetesObject {
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

const name = 'io.k8s.api.settings.v1alpha1.PodPreset'

export const podPresets: Resource<PodPreset> = {
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
  schema: versionedStruct(name, {
    metadata: structDefinition('meta.v1.ObjectMeta'),
    spec: struct(`${name}Spec`, {
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
