import { parseYaml } from '#/api/text/yaml.ts'
import { inContext, KustomizeError } from '../kustomize-error.ts'
import {
  anything,
  decodeDocument,
  flag,
  integer,
  list,
  struct,
  structs,
  text,
  textMap,
  textOfType,
  texts,
  type DecodedStruct,
  type Decoder,
} from './decode.ts'

const resourceIdFields = { group: text, version: text, kind: text, name: text, namespace: text }

const idOwners = {
  group: 'ResId.Gvk',
  version: 'ResId.Gvk',
  kind: 'ResId.Gvk',
  name: 'ResId',
  namespace: 'ResId',
} as const

export const selectorShape = struct(
  'Selector',
  { ...resourceIdFields, annotationSelector: text, labelSelector: text },
  idOwners,
)

export const fieldSpecShape = struct(
  'FieldSpec',
  { group: text, version: text, kind: text, path: text, create: flag },
  { group: 'Gvk', version: 'Gvk', kind: 'Gvk' },
)

export const patchFields = {
  path: text,
  patch: text,
  target: selectorShape,
  options: struct('PatchArgs', { allowNameChange: flag, allowKindChange: flag }),
}

const patchShape = struct('Patch', patchFields)

const labelShape = struct('Label', {
  pairs: textMap,
  includeSelectors: flag,
  includeTemplates: flag,
  fields: structs(fieldSpecShape),
})

export const imageShape = struct('Image', {
  name: text,
  newName: text,
  tagSuffix: text,
  newTag: text,
  digest: text,
})

export const replicaShape = struct('Replica', { name: text, count: integer })

const fieldOptionsShape = struct('FieldOptions', {
  delimiter: text,
  index: integer,
  encoding: text,
  create: flag,
})

const sourceShape = struct(
  'SourceSelector',
  { ...resourceIdFields, fieldPath: text, options: fieldOptionsShape },
  idOwners,
)

const targetShape = struct('TargetSelector', {
  select: selectorShape,
  reject: structs(selectorShape),
  fieldPaths: texts,
  options: fieldOptionsShape,
})

const replacementFields = { source: sourceShape, targets: structs(targetShape), sourceValue: text }

export const replacementShape = struct('Replacement', replacementFields)

const replacementOwners = {
  source: 'Replacement',
  targets: 'Replacement',
  sourceValue: 'Replacement',
} as const

export const replacementFieldShape = struct(
  'ReplacementField',
  { ...replacementFields, path: text },
  replacementOwners,
)

const varTargetFields = {
  apiVersion: text,
  group: text,
  version: text,
  kind: text,
  name: text,
  namespace: text,
}

const varShape = struct('Var', {
  name: text,
  objref: struct('Target', varTargetFields, { group: 'Gvk', version: 'Gvk', kind: 'Gvk' }),
  fieldref: struct('FieldSelector', { fieldPath: text }),
})

const generatorOptionsShape = struct('GeneratorOptions', {
  labels: textMap,
  annotations: textMap,
  disableNameSuffixHash: flag,
  immutable: flag,
})

const generatorFields = {
  namespace: text,
  name: text,
  behavior: text,
  literals: texts,
  files: texts,
  envs: texts,
  env: text,
  options: generatorOptionsShape,
}

const generatorOwners = {
  namespace: 'GeneratorArgs',
  name: 'GeneratorArgs',
  behavior: 'GeneratorArgs',
  literals: 'GeneratorArgs.KvPairSources',
  files: 'GeneratorArgs.KvPairSources',
  envs: 'GeneratorArgs.KvPairSources',
  env: 'GeneratorArgs.KvPairSources',
  options: 'GeneratorArgs',
} as const

const configMapShape = struct('ConfigMapArgs', generatorFields, generatorOwners)

const secretShape = struct('SecretArgs', { ...generatorFields, type: text }, generatorOwners)

/** The fields of a generator that is configured by a resource. */
export const generatorResourceShape = struct('GeneratorArgs', {
  ...generatorFields,
  type: text,
  metadata: struct('ObjectMeta', { name: text, namespace: text }),
})

export const sortOptionsShape = struct('SortOptions', {
  order: text,
  legacySortOptions: struct('LegacySortOptions', { orderFirst: texts, orderLast: texts }),
})

const kustomizationFields = {
  apiVersion: text,
  kind: text,
  metadata: struct('ObjectMeta', { name: text, namespace: text, labels: textMap, annotations: textMap }),
  openapi: textMap,
  namePrefix: text,
  nameSuffix: text,
  namespace: text,
  commonLabels: textMap,
  labels: structs(labelShape),
  commonAnnotations: textMap,
  patchesStrategicMerge: list(textOfType('types.PatchStrategicMerge'), ''),
  patchesJson6902: structs(patchShape),
  patches: structs(patchShape),
  images: structs(imageShape),
  imageTags: structs(imageShape),
  replacements: structs(replacementFieldShape),
  replicas: structs(replicaShape),
  vars: structs(varShape),
  sortOptions: sortOptionsShape,
  resources: texts,
  components: texts,
  crds: texts,
  bases: texts,
  configMapGenerator: structs(configMapShape),
  secretGenerator: structs(secretShape),
  helmGlobals: anything,
  helmCharts: list(anything, null),
  helmChartInflationGenerator: list(anything, null),
  generatorOptions: generatorOptionsShape,
  configurations: texts,
  generators: texts,
  transformers: texts,
  validators: texts,
  buildMetadata: texts,
}

const kustomizationShape = struct('Kustomization', kustomizationFields)

export type Kustomization = DecodedStruct<typeof kustomizationFields>
type TypeOf<D> = D extends Decoder<infer T> ? T : never
export type Patch = TypeOf<typeof patchShape>
export type Label = TypeOf<typeof labelShape>
export type Image = TypeOf<typeof imageShape>
export type Replica = TypeOf<typeof replicaShape>
export type Replacement = TypeOf<typeof replacementShape>
export type ReplacementField = TypeOf<typeof replacementFieldShape>
export type ReplacementTarget = TypeOf<typeof targetShape>
export type FieldOptions = TypeOf<typeof fieldOptionsShape>
export type Var = TypeOf<typeof varShape>
export type GeneratorOptions = TypeOf<typeof generatorOptionsShape>
/** The arguments of a generator of ConfigMaps, or with `type` of Secrets. */
export type GeneratorArguments = TypeOf<typeof secretShape>
export type SortOptions = TypeOf<typeof sortOptionsShape>

const kustomizationVersion = 'kustomize.config.k8s.io/v1beta1'
const componentVersion = 'kustomize.config.k8s.io/v1alpha1'

/** Reads a kustomization file. Deprecated fields are reported, and moved to those that replaced them. */
export async function parseKustomization(
  content: Uint8Array,
  { folder, warn }: { readonly folder: string; readonly warn: (message: string) => void },
): Promise<Kustomization> {
  const decoded = await inContext('invalid Kustomization', () =>
    decodeDocument(kustomizationShape, parseYaml(content), true),
  )
  for (const [field, replacement] of deprecatedFields) {
    if (decoded[field] !== undefined) warn(deprecation(field, replacement))
  }
  const { apiVersion, kind, bases, imageTags, ...rest } = decoded
  const isEmpty = [bases, imageTags, ...Object.values(rest)].every(value => value === undefined)
  if (isEmpty) throw new KustomizeError('kustomization.yaml is empty')
  checkType(folder, kind || 'Kustomization', apiVersion)
  return {
    ...rest,
    kind: kind || 'Kustomization',
    resources: [...(rest.resources ?? []), ...(bases ?? [])],
    images: [...(rest.images ?? []), ...(imageTags ?? [])],
  }
}

const deprecatedFields = [
  ['bases', 'resources'],
  ['commonLabels', 'labels'],
  ['imageTags', 'images'],
  ['patchesJson6902', 'patches'],
  ['patchesStrategicMerge', 'patches'],
  ['vars', 'replacements'],
] as const

function deprecation(field: string, replacement: string): string {
  const experimental = field === 'vars' ? '[EXPERIMENTAL] ' : ''
  const remedy = `${experimental}Run 'kustomize edit fix' to update your Kustomization automatically.`
  return `# Warning: '${field}' is deprecated. Please use '${replacement}' instead. ${remedy}`
}

function checkType(folder: string, kind: string, apiVersion: string | undefined): void {
  const problems: string[] = []
  if (kind !== 'Kustomization' && kind !== 'Component') {
    problems.push('kind should be Kustomization or Component')
  }
  const expected = kind === 'Component' ? componentVersion : kustomizationVersion
  if (apiVersion && apiVersion !== expected) problems.push(`apiVersion for ${kind} should be ${expected}`)
  if (problems.length === 0) return
  throw new KustomizeError(`Failed to read kustomization file under ${folder}:\n${problems.join('\n')}`)
}
