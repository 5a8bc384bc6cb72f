/**
 * Kustomize: builds the objects of a folder from a kustomization file, as `kubectl kustomize` and `kubectl apply -k`
 * do. Resources are loaded and generated, then transformed in a fixed order, from the innermost kustomization
 * outwards; at last, references follow the resources that got other names or namespaces. Nothing runs programs
 * or uses the network: helm charts, remote resources and plugins other than the builtin ones are refused.
 */
import type { JsonObject } from '#/api/text/json-object.ts'
import type { Files } from '#/platform/platform.ts'
import { validateMetadata } from './documents/read-documents.ts'
import { compareText } from './documents/value.ts'
import { KustomizeError, toKustomizeError } from './kustomize-error.ts'
import type { SortOptions } from './load/kustomization.ts'
import { Loader, type LoadRestrictor } from './load/loader.ts'
import { compareGvk, defaultKindOrder, kindPositions } from './resources/compare-gvk.ts'
import { formatOrigin, formatTransformations } from './resources/origin.ts'
import { equalGvk, type ResourceId } from './resources/resource-id.ts'
import type { ResourceList } from './resources/resource-list.ts'
import type { Resource } from './resources/resource.ts'
import { accumulateTarget } from './target/accumulate.ts'
import type { Build } from './target/build.ts'
import { loadSchemas, openTarget } from './target/open-target.ts'
import { addHashes } from './transformers/hash-names.ts'
import { updateNameReferences } from './transformers/name-references.ts'
import { setStrings } from './transformers/set-strings.ts'
import { resolveVars } from './transformers/vars.ts'

export interface KustomizeOptions {
  readonly files: Files
  /** The absolute path of a folder with a kustomization file. */
  readonly folder: string
  readonly loadRestrictor?: LoadRestrictor
  /** Receives warnings, such as about deprecated fields. */
  readonly warn?: (message: string) => void
}

/** Builds the kustomization in a folder: the objects in kustomize's order. Throws KustomizeError. */
export async function buildKustomization(options: KustomizeOptions): Promise<readonly JsonObject[]> {
  try {
    return await build(options)
  } catch (error) {
    throw toKustomizeError(error)
  }
}

/** The version of kustomize whose behavior this is, in the label of `managedByLabel`. */
const version = 'v5.8.1'

async function build({ files, folder, ...options }: KustomizeOptions): Promise<readonly JsonObject[]> {
  const restrictor = options.loadRestrictor ?? 'LoadRestrictionsRootOnly'
  const loader = await Loader.open({ files, folder, restrictor })
  const build: Build = { warn: options.warn ?? (() => undefined), schemas: undefined }
  const opened = await openTarget(build, loader)
  const { buildMetadata = [], sortOptions } = opened.kustomization
  const target = buildMetadata.length > 0 ? { ...opened, origin: {} } : opened
  await loadSchemas(target)
  const accumulator = await accumulateTarget(target)
  const { resources, configuration, vars } = accumulator
  addHashes(resources)
  updateNameReferences(resources, configuration.nameReference)
  resolveVars(resources, vars, { specs: configuration.varReference, warn: build.warn })
  dropLocalResources(resources)
  sortResources(resources, sortOptions)
  if (buildMetadata.includes('managedByLabel')) {
    const label = { 'app.kubernetes.io/managed-by': `kustomize-${version}` }
    setStrings(resources, label, [{ path: 'metadata/labels', create: true }])
  }
  return resources.toArray().map(resource => finish(resource, buildMetadata))
}

/** Resources that are only for tools on the client, such as the configuration of functions. */
function dropLocalResources(resources: ResourceList): void {
  const kept = resources.toArray().filter(resource => {
    if (resource.isDeleted) return false
    validateMetadata(resource.object, resource.buildAnnotations)
    const { 'config.kubernetes.io/local-config': local = 'false' } = resource.annotations
    return local === 'false'
  })
  resources.replaceAll(kept)
}

const originAnnotation = 'config.kubernetes.io/origin'
const transformationsAnnotation = 'alpha.config.kubernetes.io/transformations'

/** All values of annotations are strings, and there are no empty ones. */
function finish(resource: Resource, buildMetadata: readonly string[]): JsonObject {
  const {
    [originAnnotation]: _origin,
    [transformationsAnnotation]: _list,
    ...annotations
  } = resource.annotations
  const { origin, transformations } = resource
  if (buildMetadata.includes('originAnnotations') && origin !== undefined) {
    annotations[originAnnotation] = formatOrigin(origin)
  }
  if (buildMetadata.includes('transformerAnnotations') && transformations.length > 0) {
    annotations[transformationsAnnotation] = formatTransformations(transformations)
  }
  resource.setStringMap('annotations', annotations)
  return resource.object
}

/** By default, resources are in the order in which they are created in a cluster. */
function sortResources(resources: ResourceList, options: SortOptions = { order: 'legacy' }): void {
  const { order = '', legacySortOptions } = options
  if (order !== 'fifo' && order !== 'legacy') {
    throw new KustomizeError("the field 'sortOptions.order' must be one of [fifo, legacy]")
  }
  if (order === 'fifo') {
    if (legacySortOptions === undefined) return
    const problem = `is set but the selected sort order is '${order}', not 'legacy'`
    throw new KustomizeError(`the field 'sortOptions.legacySortOptions' ${problem}`)
  }
  const { orderFirst = [], orderLast = [] } = legacySortOptions ?? defaultKindOrder
  const positions = kindPositions({ orderFirst, orderLast })
  const keyed = resources.toArray().map(resource => ({ resource, id: resource.currentId }))
  keyed.sort((left, right) =>
    equalGvk(left.id, right.id)
      ? compareText(sortKey(left.id), sortKey(right.id))
      : compareGvk(left.id, right.id, positions),
  )
  resources.replaceAll(keyed.map(({ resource }) => resource))
}

function sortKey({ namespace, name }: ResourceId): string {
  return `${namespace || '~X'}|${name || '~N'}`
}
