import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { mergeFieldSpecs, type Configuration } from '../fields/configuration.ts'
import type { FieldSpec } from '../fields/field-spec.ts'
import { generate, mergeOptions } from '../generators/generate.ts'
import { KustomizeError, toKustomizeError } from '../kustomize-error.ts'
import type { Label } from '../load/kustomization.ts'
import { builtinOrigin } from '../resources/origin.ts'
import { replaceImage } from '../transformers/images.ts'
import { loadBuiltInSchemas, type KindSchemas } from '../transformers/merge-schema.ts'
import { addNameAffix } from '../transformers/name-affixes.ts'
import { moveToNamespace } from '../transformers/namespace.ts'
import { json6902Transformer, patchTransformer, strategicMergeTransformer } from '../transformers/patches.ts'
import { replacementTransformer } from '../transformers/replacements.ts'
import { setReplicas } from '../transformers/replicas.ts'
import { setStrings } from '../transformers/set-strings.ts'
import type { Build, Target } from './build.ts'
import type { Step } from './run-transformers.ts'

type Run = Step['run']

/** The generators of the fields of a kustomization file. */
export function builtinGenerators(target: Target): Step[] {
  const { kustomization, loader } = target
  if ((kustomization.helmCharts ?? kustomization.helmChartInflationGenerator ?? []).length > 0) {
    throw new KustomizeError('helm charts are not supported: render them with helm template')
  }
  const common = kustomization.generatorOptions
  const step = (kind: 'ConfigMap' | 'Secret') => {
    const field = kind === 'ConfigMap' ? kustomization.configMapGenerator : kustomization.secretGenerator
    return (field ?? []).map((options): Step => {
      const merged = { ...options, options: mergeOptions(options.options, common) }
      const run: Run = async resources => resources.appendAll([await generate(kind, merged, loader)])
      return { kind: `${kind}Generator`, run, origin: originOf(target, `${kind}Generator`) }
    })
  }
  return [...step('ConfigMap'), ...step('Secret')]
}

/** The transformers of the fields of a kustomization file, in the order in which they are applied. */
export async function builtinTransformers(target: Target, configuration: Configuration): Promise<Step[]> {
  const { kustomization } = target
  const { namespace = '', namePrefix = '', nameSuffix = '', commonAnnotations = {} } = kustomization
  const runs: [kind: string, run: Run][] = [...(await patchRuns(target))]
  if (namespace !== '') {
    runs.push([
      'NamespaceTransformer',
      resources => moveToNamespace(resources, { namespace, specs: configuration.namespace }),
    ])
  }
  for (const position of ['prefix', 'suffix'] as const) {
    const text = position === 'prefix' ? namePrefix : nameSuffix
    const specs = position === 'prefix' ? configuration.namePrefix : configuration.nameSuffix
    const kind = position === 'prefix' ? 'PrefixTransformer' : 'SuffixTransformer'
    if (text !== '') runs.push([kind, resources => addNameAffix(resources, { position, text, specs })])
  }
  for (const run of labelRuns(target, configuration)) runs.push(['LabelTransformer', run])
  if (Object.keys(commonAnnotations).length > 0) {
    runs.push([
      'AnnotationsTransformer',
      resources => setStrings(resources, commonAnnotations, configuration.commonAnnotations),
    ])
  }
  for (const patch of kustomization.patchesJson6902 ?? []) {
    const { patch: jsonOp, target: selector, path } = patch
    const shown = show({ jsonOp, path, target: selector })
    const run = await configure('PatchJson6902Transformer', shown, async () =>
      json6902Transformer(patch, { loader: target.loader, schemas: await schemasOf(target.build), shown }),
    )
    runs.push(['PatchJson6902Transformer', run])
  }
  for (const replica of kustomization.replicas ?? []) {
    runs.push([
      'ReplicaCountTransformer',
      resources => setReplicas(resources, replica, configuration.replicas),
    ])
  }
  for (const image of kustomization.images ?? []) {
    runs.push(['ImageTagTransformer', resources => replaceImage(resources, image, configuration.images)])
  }
  const replacements = kustomization.replacements ?? []
  if (replacements.length > 0) {
    const shown = show({ replacements })
    const run = await configure('ReplacementTransformer', shown, () =>
      replacementTransformer(replacements, target.loader),
    )
    runs.push(['ReplacementTransformer', run])
  }
  return runs.map(([kind, run]) => ({ kind, run, origin: originOf(target, kind) }))
}

async function patchRuns({ build, loader, kustomization }: Target): Promise<[kind: string, run: Run][]> {
  const runs: [kind: string, run: Run][] = []
  const { patchesStrategicMerge: paths = [], patches = [] } = kustomization
  if (paths.length > 0) {
    const shown = show({ paths })
    const run = await configure('PatchStrategicMergeTransformer', shown, async () =>
      strategicMergeTransformer(paths, { loader, schemas: await schemasOf(build), shown }),
    )
    runs.push(['PatchStrategicMergeTransformer', run])
  }
  for (const patch of patches) {
    const shown = show(patch)
    const run = await configure('PatchTransformer', shown, async () =>
      patchTransformer(patch, { loader, schemas: await schemasOf(build), shown }),
    )
    runs.push(['PatchTransformer', run])
  }
  return runs
}

export async function schemasOf(build: Build): Promise<KindSchemas> {
  build.schemas ??= await loadBuiltInSchemas()
  return build.schemas
}

function labelRuns({ kustomization }: Target, configuration: Configuration): Run[] {
  const { labels = [], commonLabels = {} } = kustomization
  if (labels.length === 0 && Object.keys(commonLabels).length === 0) return []
  const runs = labels.map((label): Run => {
    const specs = labelSpecs(label, configuration)
    return resources => setStrings(resources, label.pairs ?? {}, specs)
  })
  return [...runs, resources => setStrings(resources, commonLabels, configuration.commonLabels)]
}

/** Fields that are given, of the selectors or templates if they are included, and of the metadata. */
function labelSpecs(label: Label, configuration: Configuration): readonly FieldSpec[] {
  try {
    const specs = mergeFieldSpecs(label.fields ?? [], configuration.labels)
    if (label.includeSelectors) return mergeFieldSpecs(specs, configuration.commonLabels)
    const templates = label.includeTemplates ? configuration.templateLabels : []
    return mergeFieldSpecs(mergeFieldSpecs(specs, templates), [{ path: 'metadata/labels', create: true }])
  } catch (error) {
    throw toKustomizeError(error, text => `failed to merge labels: ${text}`)
  }
}

function originOf({ origin, fileName }: Target, kind: string): Step['origin'] {
  return origin && builtinOrigin(origin, fileName, kind)
}

async function configure<T>(kind: string, shown: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const context = `trouble configuring builtin ${kind} with config: \`\n${shown}\``
    throw toKustomizeError(error, text => `${context}: ${text}`)
  }
}

/** A configuration as YAML, without what is not set. */
function show(configuration: object): string {
  return stringifyYaml(JSON.parse(JSON.stringify(configuration)) as JsonObject)
}
