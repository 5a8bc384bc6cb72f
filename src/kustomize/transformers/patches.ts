import { isObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { ensureMap } from '../documents/value.ts'
import { readObjects } from '../documents/read-documents.ts'
import { KustomizeError, toKustomizeError } from '../kustomize-error.ts'
import type { Patch } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'
import { formatId } from '../resources/resource-id.ts'
import type { ResourceList } from '../resources/resource-list.ts'
import { Resource } from '../resources/resource.ts'
import { formatSelector, selectResources } from '../resources/selector.ts'
import { applyJsonPatch, asJsonPatch, type JsonPatch } from './json-patch.ts'
import type { KindSchemas } from './merge-schema.ts'
import { mergeStrategically } from './strategic-merge.ts'

export type Transform = (resources: ResourceList) => void

interface PatchContext {
  readonly loader: Loader
  readonly schemas: KindSchemas
  /** The configuration as YAML, for messages. */
  readonly shown: string
}

/** A patch of either kind, inline or in a file. */
export async function patchTransformer(patch: Patch, context: PatchContext): Promise<Transform> {
  const { path = '', target, options = {} } = patch
  const inline = (patch.patch ?? '').trim()
  if (inline === '' && path === '') {
    throw new KustomizeError(`must specify one of patch and path in\n${context.shown}`)
  }
  if (inline !== '' && path !== '') {
    throw new KustomizeError(`patch and path can't be set at the same time\n${context.shown}`)
  }
  const text = inline === '' ? await readPatch(context.loader, path) : inline
  const source = inline === '' ? `[path: ${JSON.stringify(path)}]` : `[patch: ${JSON.stringify(inline)}]`
  const merges = attempt(() => readObjects(text).map(object => new Resource(object)))
  const operations = attempt(() => parseJsonPatch(text))
  if (merges === undefined && operations === undefined) {
    throw new KustomizeError(`unable to parse SM or JSON patch from ${source}`)
  }
  if (merges === undefined) {
    return resources => {
      if (target === undefined) throw new KustomizeError(`must specify a target for JSON patch ${source}`)
      for (const resource of selectResources(resources, target)) {
        resource.storePreviousId()
        patchResource(resource, operations ?? [])
      }
    }
  }
  for (const each of merges) {
    each.allowsNameChange = options.allowNameChange ?? false
    each.allowsKindChange = options.allowKindChange ?? false
  }
  return resources => applyMerges({ resources, merges, patch, source, schemas: context.schemas })
}

async function readPatch(loader: Loader, path: string): Promise<string> {
  try {
    return Buffer.from(await loader.read(path)).toString('utf8')
  } catch (error) {
    throw toKustomizeError(error, text => `failed to get the patch file from path(${path}): ${text}`)
  }
}

/** Undefined if the text is no such patch. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (toKustomizeError(error) instanceof KustomizeError) return undefined
    throw error
  }
}

/** A text in brackets is JSON, everything else YAML. */
function parseJsonPatch(text: string): JsonPatch {
  if (text === '') throw new KustomizeError('empty json patch operations')
  const value = text.startsWith('[') ? parseJson(text) : parseYaml(text)
  const patch = value === null ? [] : asJsonPatch(value)
  if (patch === undefined) throw new KustomizeError('a JSON patch is a list of operations')
  return patch
}

function applyMerges(options: {
  readonly resources: ResourceList
  readonly merges: readonly Resource[]
  readonly patch: Patch
  readonly source: string
  readonly schemas: KindSchemas
}): void {
  const { resources, merges, source, schemas } = options
  const { target } = options.patch
  const [first, ...others] = merges
  if (first === undefined) return
  if (target === undefined) {
    for (const patch of merges) {
      const name = formatId(patch.originalId)
      mergeResource(findTarget(resources, patch, `no resource matches strategic merge patch "${name}": `), {
        patch,
        schemas,
      })
    }
    return
  }
  if (others.length > 0) {
    const problem = 'is not allowed to set `patches.target` field'
    throw new KustomizeError(
      `Multiple Strategic-Merge Patches in one \`patches\` entry ${problem}: ${source}`,
    )
  }
  mergeIntoAll(resources, selectTargets(resources, options.patch), { patch: first, schemas })
}

function selectTargets(resources: ResourceList, { target = {} }: Patch): Resource[] {
  try {
    return selectResources(resources, target)
  } catch (error) {
    const { group = '', version = '', kind = '', name = '', namespace = '' } = target
    const shown = formatSelector(target, formatId({ group, version, kind, name, namespace }))
    throw toKustomizeError(error, text => `unable to find patch target "${shown}" in \`resources\`: ${text}`)
  }
}

function findTarget(resources: ResourceList, patch: Resource, context = ''): Resource {
  try {
    return resources.byId(patch.originalId)
  } catch (error) {
    throw toKustomizeError(error, text => context + text)
  }
}

interface Merge {
  readonly patch: Resource
  readonly schemas: KindSchemas
}

/** The patch takes the API version of each target. */
function mergeIntoAll(
  resources: ResourceList,
  targets: readonly Resource[],
  { patch, schemas }: Merge,
): void {
  for (const target of targets) {
    const copy = patch.copy()
    copy.setStringMap('labels', patch.labels)
    copy.setStringMap('annotations', patch.annotations)
    copy.setApiVersion(target.gvk)
    mergeResource(target, { patch: copy, schemas })
  }
  resources.replaceAll(resources.toArray().filter(resource => !resource.isDeleted))
}

/** Name and kind change only if the patch is allowed to change them, the namespace never. */
function mergeResource(target: Resource, { patch, schemas }: Merge): void {
  const { name, namespace, kind } = target
  if (patch.allowsNameChange || patch.allowsKindChange) target.storePreviousId()
  target.replaceObject(mergeStrategically(target.object, patch.object, schemas))
  if (target.isDeleted) return
  if (!patch.allowsKindChange) target.setKind(kind)
  if (!patch.allowsNameChange) target.setName(name)
  target.setNamespace(namespace)
}

/**
 * Operations see the annotations with which kustomize keeps the history of a resource: with a history, there are
 * annotations to which one can be added.
 */
function patchResource(resource: Resource, operations: JsonPatch): void {
  if (resource.buildAnnotations.size > 0) {
    const metadata = ensureMap(resource.object, 'metadata')
    ensureMap(metadata, 'annotations')
  }
  const patched = applyJsonPatch(resource.object, operations)
  if (!isObject(patched))
    throw new KustomizeError('json: cannot unmarshal array into Go value of type map[string]interface {}')
  resource.replaceObject(patched)
}

/** The deprecated field `patchesStrategicMerge`: patches inline or in files. */
export async function strategicMergeTransformer(
  paths: readonly string[],
  { loader, schemas }: PatchContext,
): Promise<Transform> {
  const merges: Resource[] = []
  for (const path of paths) {
    const objects = attempt(() => readObjects(path)) ?? readObjects(await loader.read(path))
    for (const object of objects) merges.push(new Resource(object))
  }
  if (merges.length === 0) {
    throw new KustomizeError(`patch appears to be empty; files=[${paths.join(' ')}], Patch=`)
  }
  return resources => {
    for (const patch of merges) mergeIntoAll(resources, [findTarget(resources, patch)], { patch, schemas })
  }
}

/** The deprecated field `patchesJson6902`. */
export async function json6902Transformer(patch: Patch, { loader }: PatchContext): Promise<Transform> {
  const { path = '', target } = patch
  if (!target?.name) throw new KustomizeError('must specify the target name')
  const inline = patch.patch ?? ''
  if (path === '' && inline === '') throw new KustomizeError('empty file path and empty jsonOp')
  if (path !== '' && inline !== '') throw new KustomizeError('must specify a file path or jsonOp, not both')
  const text = path === '' ? inline : Buffer.from(await loader.read(path)).toString('utf8')
  if (text === '') throw new KustomizeError(`patch file '${path}' empty seems to be empty`)
  const operations = parseJsonPatch(text)
  if (operations.length === 0) {
    throw new KustomizeError(`patch appears to be empty; file=${path}, JsonOp=${text}`)
  }
  return resources => {
    for (const resource of selectResources(resources, target)) patchResource(resource, operations)
  }
}
