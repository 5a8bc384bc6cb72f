import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { inContext, KustomizeError } from '../kustomize-error.ts'
import { generate } from '../generators/generate.ts'
import { decodeDocument, flag, struct, structs, text, textMap, texts, type Decoder } from '../load/decode.ts'
import {
  fieldSpecShape,
  generatorResourceShape,
  imageShape,
  patchFields,
  replacementFieldShape,
  replicaShape,
} from '../load/kustomization.ts'
import { originOfConfiguration } from '../resources/origin.ts'
import { formatId } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'
import type { Resource } from '../resources/resource.ts'
import { addHashes } from '../transformers/hash-names.ts'
import { replaceImage } from '../transformers/images.ts'
import { addNameAffix } from '../transformers/name-affixes.ts'
import { checkSubjectMode, moveToNamespace } from '../transformers/namespace.ts'
import { json6902Transformer, patchTransformer, strategicMergeTransformer } from '../transformers/patches.ts'
import { replacementTransformer } from '../transformers/replacements.ts'
import { setReplicas } from '../transformers/replicas.ts'
import { setStrings } from '../transformers/set-strings.ts'
import { addValue, valueTargets } from '../transformers/add-value.ts'
import type { Target } from './build.ts'
import { schemasOf } from './builtin-steps.ts'
import type { Step } from './run-transformers.ts'

type Run = Step['run']

/** Configures the generators and transformers that resources of the group `builtin` describe. */
export async function loadPlugins(configurations: ResourceList, target: Target): Promise<Step[]> {
  const steps: Step[] = []
  for (const resource of configurations) {
    const { gvk, kind } = resource
    if (gvk.group !== '' || gvk.version !== 'builtin') {
      throw new KustomizeError(`external plugins disabled; unable to load external plugin '${kind}'`)
    }
    const configure = Object.hasOwn(plugins, kind) ? plugins[kind] : undefined
    if (configure === undefined) throw new KustomizeError(`unable to load builtin ${kind}.builtin.[noGrp]`)
    const run = await inContext(`plugin ${formatId(resource.currentId)} fails configuration`, () =>
      configure(resource, target),
    )
    steps.push({ kind, run, origin: originOfConfiguration(resource) })
  }
  return steps
}

type Configure = (resource: Resource, target: Target) => Run | Promise<Run>

const fieldSpecs = structs(fieldSpecShape)

/** Reads the configuration leniently: it also has `apiVersion`, `kind` and `metadata`. */
function plugin<T>(
  shape: Decoder<T>,
  configure: (decoded: T, resource: Resource, target: Target) => Run | Promise<Run>,
): Configure {
  return (resource, target) => configure(decodeDocument(shape, resource.object, false), resource, target)
}

function generator(kind: 'ConfigMap' | 'Secret'): Configure {
  return plugin(generatorResourceShape, (decoded, _resource, { loader }) => {
    const { metadata = {}, ...options } = decoded
    const [name, namespace] = [
      options.name || metadata.name || '',
      options.namespace || metadata.namespace || '',
    ]
    return async resources =>
      resources.appendAll([await generate(kind, { ...options, name, namespace }, loader)])
  })
}

const affixShape = struct('Affix', { prefix: text, suffix: text, fieldSpecs })

function affixes(...positions: readonly ('prefix' | 'suffix')[]): Configure {
  return plugin(affixShape, decoded => {
    const specs = decoded.fieldSpecs
    if (specs === undefined) throw new KustomizeError('fieldSpecs is not expected to be nil')
    return resources => {
      for (const position of positions)
        addNameAffix(resources, { position, text: decoded[position] ?? '', specs })
    }
  })
}

const plugins: Readonly<Record<string, Configure>> = {
  ConfigMapGenerator: generator('ConfigMap'),
  SecretGenerator: generator('Secret'),
  AnnotationsTransformer: plugin(
    struct('AnnotationsTransformer', { annotations: textMap, fieldSpecs }),
    ({ annotations = {}, fieldSpecs: specs = [] }) =>
      resources =>
        setStrings(resources, annotations, specs),
  ),
  LabelTransformer: plugin(
    struct('LabelTransformer', { labels: textMap, fieldSpecs }),
    ({ labels = {}, fieldSpecs: specs = [] }) =>
      resources =>
        setStrings(resources, labels, specs),
  ),
  HashTransformer: () => resources => addHashes(resources),
  ImageTagTransformer: plugin(
    struct('ImageTagTransformer', { imageTag: imageShape, fieldSpecs }),
    ({ imageTag = {}, fieldSpecs: specs = [] }) =>
      resources =>
        replaceImage(resources, imageTag, specs),
  ),
  NamespaceTransformer: plugin(
    struct('NamespaceTransformer', {
      metadata: struct('ObjectMeta', { namespace: text }),
      fieldSpecs,
      unsetOnly: flag,
      setRoleBindingSubjects: text,
    }),
    ({ metadata = {}, fieldSpecs: specs = [], unsetOnly = false, setRoleBindingSubjects = '' }) => {
      checkSubjectMode(setRoleBindingSubjects)
      const namespace = metadata.namespace ?? ''
      return resources => moveToNamespace(resources, { namespace, specs, unsetOnly, setRoleBindingSubjects })
    },
  ),
  PatchTransformer: plugin(
    struct('PatchTransformer', patchFields),
    async (patch, resource, { build, loader }) =>
      patchTransformer(patch, {
        loader,
        schemas: await schemasOf(build),
        shown: stringifyYaml(resource.object),
      }),
  ),
  PatchJson6902Transformer: plugin(
    struct('PatchJson6902Transformer', { ...patchFields, jsonOp: text }),
    async ({ jsonOp, ...patch }, _resource, { build, loader }) =>
      json6902Transformer(
        { ...patch, ...(jsonOp !== undefined && { patch: jsonOp }) },
        { loader, schemas: await schemasOf(build), shown: '' },
      ),
  ),
  PatchStrategicMergeTransformer: plugin(
    struct('PatchStrategicMergeTransformer', { paths: texts, patches: text }),
    async ({ paths = [], patches = '' }, _resource, { build, loader }) => {
      if (paths.length === 0 && patches === '')
        throw new KustomizeError('empty file path and empty patch content')
      const all = patches === '' ? paths : [...paths, patches]
      return strategicMergeTransformer(all, { loader, schemas: await schemasOf(build), shown: '' })
    },
  ),
  PrefixTransformer: affixes('prefix'),
  SuffixTransformer: affixes('suffix'),
  PrefixSuffixTransformer: affixes('prefix', 'suffix'),
  ReplacementTransformer: plugin(
    struct('ReplacementTransformer', { replacements: structs(replacementFieldShape) }),
    ({ replacements = [] }, _resource, { loader }) => replacementTransformer(replacements, loader),
  ),
  ReplicaCountTransformer: plugin(
    struct('ReplicaCountTransformer', { replica: replicaShape, fieldSpecs }),
    ({ replica = {}, fieldSpecs: specs = [] }) =>
      resources =>
        setReplicas(resources, replica, specs),
  ),
  ValueAddTransformer: plugin(
    struct('ValueAddTransformer', {
      value: text,
      targets: valueTargets,
      targetFilePath: text,
    }),
    (decoded, _resource, { loader }) => addValue(decoded, loader),
  ),
}
