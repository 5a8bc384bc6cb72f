import type { GroupVersionKind } from '#/api/resource.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { deleteOptionsOf, type DeletionPlan } from '../delete/delete-flags.ts'
import { ContextError } from '../errors.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'
import type { Factory } from '../factory.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import { lastAppliedOf } from '../resource/last-applied.ts'

/** What an apply has touched. */
export interface VisitedObjects {
  readonly uids: ReadonlySet<string>
  readonly namespaces: ReadonlySet<string>
}

/** Kinds that are pruned without an allow list. */
const defaultKinds: readonly string[] = [
  'core/v1/ConfigMap',
  'core/v1/Endpoints',
  'core/v1/PersistentVolumeClaim',
  'core/v1/Pod',
  'core/v1/ReplicationController',
  'core/v1/Secret',
  'core/v1/Service',
  'batch/v1/Job',
  'batch/v1/CronJob',
  'networking.k8s.io/v1/Ingress',
  'apps/v1/DaemonSet',
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
  'core/v1/Namespace',
  'core/v1/PersistentVolume',
]

/**
 * The kinds to prune, namespaced ones first. `allowed` are as in `--prune-allowlist`. Throws Error for an
 * unknown kind.
 */
async function pruneMappings(factory: Factory, allowed: readonly string[]): Promise<readonly RestMapping[]> {
  const mapper = await factory.restMapper()
  const mappings: RestMapping[] = []
  for (const text of allowed.length > 0 ? allowed : defaultKinds) {
    mappings.push(await mapper.mappingFor(parsePruneKind(text)))
  }
  if (allowed.length === 0) {
    factory.printWarning(
      'Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used with ' +
        'the --namespace flag in a future release. To preserve the current behaviour, list the resources ' +
        'you want to target explicitly in the --prune-allowlist flag.',
    )
  }
  return mappings.toSorted((a, b) => Number(a.scope === 'Cluster') - Number(b.scope === 'Cluster'))
}

/** Throws Error for a kind that the server does not have. */
export async function requirePruneKinds(factory: Factory, allowed: readonly string[]): Promise<void> {
  const mapper = await factory.restMapper()
  for (const text of allowed) await mapper.mappingFor(parsePruneKind(text))
}

/** `core/v1/Pod`, `apps/v1/Deployment`. */
function parsePruneKind(text: string): GroupVersionKind {
  const [group, version, kind, ...more] = text.split('/')
  if (group === undefined || version === undefined || kind === undefined || more.length > 0) {
    throw new Error(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`)
  }
  return { group: group === 'core' ? '' : group, version, kind }
}

export interface PruneQuery {
  /** The kinds to prune, as in `--prune-allowlist`; empty for the default. */
  readonly allowed: readonly string[]
  readonly visited: VisitedObjects
  readonly labelSelector: string | undefined
}

export interface PrunedObject {
  readonly info: Info
  readonly object: JsonObject
}

/** Objects that were applied before, and not by this apply. */
export async function* findPrunedObjects(factory: Factory, query: PruneQuery): AsyncGenerator<PrunedObject> {
  const { visited, allowed } = query
  const mappings = await pruneMappings(factory, allowed)
  const namespaced = mappings.filter(({ scope }) => scope === 'Namespaced')
  for (const namespace of visited.namespaces) {
    for (const mapping of namespaced) yield* prunedOf(factory, { ...query, mapping, namespace })
  }
  for (const mapping of mappings) {
    if (mapping.scope === 'Cluster') yield* prunedOf(factory, { ...query, mapping, namespace: '' })
  }
}

async function* prunedOf(
  factory: Factory,
  { mapping, namespace, visited, labelSelector }: PruneQuery & Pick<Info, 'mapping' | 'namespace'>,
): AsyncGenerator<PrunedObject> {
  const resources = await factory.resources()
  const list = await resources.get(locationOf({ mapping, namespace, name: '' }), { labelSelector })
  for (const object of itemsOf(list)) {
    if (lastAppliedOf(object) === '' || visited.uids.has(metadataText(object, 'uid'))) continue
    yield { info: { mapping, namespace, name: metadataText(object, 'name') }, object }
  }
}

export interface PruneOptions extends PruneQuery {
  readonly deletion: DeletionPlan
  /** Client-side dry run. */
  readonly isOnlyShown: boolean
  readonly print: (object: JsonObject) => Promise<void>
}

/** Deletes objects that were applied before, and not by this apply. */
export async function prune(factory: Factory, options: PruneOptions): Promise<void> {
  const resources = await factory.resources()
  for await (const { info, object } of findPrunedObjects(factory, options)) {
    try {
      if (!options.isOnlyShown) await resources.delete(locationOf(info), deleteOptionsOf(options.deletion))
    } catch (error) {
      const { group, version, kind, scope } = info.mapping
      const type = scope === 'Namespaced' ? 'namespaced' : 'nonNamespaced'
      throw new ContextError(`error pruning ${type} object ${group}/${version}, Kind=${kind}`, error)
    }
    await options.print(object)
  }
}
