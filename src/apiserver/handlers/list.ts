/** Lists: served from the cache if it has the requested revision, and from the store for older revisions. */
import { ApiError, badRequest, expired, isApiError } from '#/api/errors.ts'
import { nextSlice, TimeSlices } from '#/platform/time-slices.ts'
import { StoreError } from '#/store/store.ts'
import { isConvertedOnRead, readObjects } from '../registry/convert-objects.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { ApiResponse } from '../request.ts'
import { listBody, type ListMeta } from '../list-body.ts'
import type { ListFigures } from '../metrics/watch-cache.ts'
import type { ListRange } from '../registry/list-items-cache.ts'
import { readContinueToken, writeContinueToken } from './continue-token.ts'
import { readListOptions, type ListOptions } from './list-options.ts'
import { isOfPast, listPast } from './past.ts'
import type { RequestScope } from './request-scope.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'

export async function list(scope: RequestScope): Promise<ApiResponse> {
  if (isOfPast(scope)) return listPast(scope)
  const options = readListOptions(scope)
  const page = await readPage(scope, options)
  return { status: 200, body: listBody(scope.view, page, { ...scope, range: page.range }) }
}

export interface ListPage {
  readonly objects: readonly StoredObject[]
  readonly meta: ListMeta
  /** Set if the page contains all objects in a range at the current revision. */
  readonly range?: ListRange
}

/** The objects of the page are in the version of the request. */
export async function readPage(scope: RequestScope, options: ListOptions): Promise<ListPage> {
  const page = await readPageOnce(scope, options)
  return { ...page, objects: await readObjects(scope.resource, page.objects) }
}

async function readPageOnce(scope: RequestScope, options: ListOptions): Promise<ListPage> {
  const { resource, info } = scope
  const prefix = prefixOf(resource, info.namespace)
  if (options.continueToken !== '') return continued(scope, options, prefix)
  const { resourceVersion, resourceVersionMatch } = options
  if (resourceVersionMatch === 'Exact' || isLegacyExact(options)) {
    return pageAt(scope, options, { prefix, revision: resourceVersion!, after: undefined })
  }
  await waitUntilFresh(scope, resourceVersion)
  // With resourceVersion=0 the limit is ignored, as in Kubernetes.
  const limit = resourceVersion === 0 ? 0 : options.limit
  return cachedPage(scope, { ...options, limit }, { prefix, after: undefined })
}

/** A limit with a resourceVersion but no resourceVersionMatch means Exact. */
function isLegacyExact({ resourceVersion, resourceVersionMatch, limit }: ListOptions): boolean {
  return resourceVersionMatch === '' && limit > 0 && (resourceVersion ?? 0) > 0
}

async function continued(scope: RequestScope, options: ListOptions, prefix: string): Promise<ListPage> {
  const token = readContinueToken(options.continueToken)
  if (options.resourceVersion !== undefined && options.resourceVersion !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  const after = `${prefix}${token.after}`
  if (token.revision === undefined) {
    await waitUntilFresh(scope, undefined)
    return cachedPage(scope, options, { prefix, after })
  }
  try {
    return await pageAt(scope, options, { prefix, after, revision: token.revision })
  } catch (error) {
    if (!isApiError(error, 'Expired')) throw error
    throw withContinue(
      expired(tooOldToContinue),
      writeContinueToken({ revision: undefined, after: token.after }),
    )
  }
}

const tooOldToContinue =
  'The provided continue parameter is too old to display a consistent list result. You can start' +
  ' a new list without the continue parameter, or use the continue token in this response to retrieve the ' +
  'remainder of' +
  ' the results. Continuing with the provided token results in an inconsistent list - objects that were created,' +
  ' modified, or deleted between the time the first chunk was returned and now may show up in the list.'

function withContinue(error: ApiError, token: string): ApiError {
  return new ApiError({ ...error.status, metadata: { continue: token } })
}

interface Position {
  readonly prefix: string
  /** The last key of the previous page. */
  readonly after: string | undefined
}

/** A page at the revision of the cache. */
async function cachedPage(
  scope: RequestScope,
  options: ListOptions,
  { prefix, after }: Position,
): Promise<ListPage> {
  const { cache, platform } = scope.registry
  const { selection, limit } = options
  const { conditions } = selection
  if (conditions.length > 0) await cache.prepareIndexes(prefixOf(scope.resource, ''), conditions)
  const narrowed = narrow(scope, options, { prefix, after })
  if (narrowed === undefined && limit === 0 && cache.countAfter(prefix, prefix) > largeObjectsMin)
    await nextSlice(platform.clock, 'list objects')
  // The objects are taken from the cache at once, at its revision.
  const { revision } = cache
  const found = narrowed ?? cache.list(prefix, after)
  const { objects, more, fetched } = selection.isAll
    ? take(found, limit || Infinity)
    : await matching(scope, options, [...found])
  recordList(scope, { index: indexOf(options, narrowed), fetched, returned: objects.length })
  const last = objects.at(-1)
  const remaining = more && selection.isAll && last ? cache.countAfter(prefix, last.key) : undefined
  const changedRevision = cache.lastChange(prefix)
  return {
    objects,
    meta: metaOf({ revision, prefix, last: more ? last : undefined, remaining }),
    ...(selection.isAll && { range: { prefix, after, limit: more ? options.limit : 0, changedRevision } }),
  }
}

interface Taken {
  readonly objects: readonly StoredObject[]
  /** True if there are more than the limit. */
  readonly more: boolean
  /** Number of objects that were tried. */
  readonly fetched: number
}

/** The indexed field that narrowed the list, as metrics name it; empty if all objects were read. */
function indexOf({ selection }: ListOptions, narrowed: Iterable<StoredObject> | undefined): string {
  if (narrowed === undefined) return ''
  if (selection.name !== undefined) return 'f:metadata.name'
  const [condition] = selection.conditions
  return condition === undefined ? '' : `f:${condition.name}`
}

function recordList(
  { registry, resource }: RequestScope,
  figures: Pick<ListFigures, 'index' | 'fetched' | 'returned'>,
): void {
  registry.metrics?.watchCache.recordCachedList({
    group: resource.group,
    resource: resource.plural,
    ...figures,
  })
}

function take(found: Iterable<StoredObject>, limit: number): Taken {
  const objects: StoredObject[] = []
  for (const stored of found) {
    if (objects.length === limit) return { objects, more: true, fetched: limit }
    objects.push(stored)
  }
  return { objects, more: false, fetched: objects.length }
}

async function matching(
  { resource, registry }: RequestScope,
  { selection, limit }: ListOptions,
  found: readonly StoredObject[],
): Promise<Taken> {
  const objects: StoredObject[] = []
  const slices = new TimeSlices(registry.platform.clock, 'select list items')
  for (const stored of isConvertedOnRead(resource) ? await readObjects(resource, found) : found) {
    const pause = slices.pause()
    if (pause) await pause
    if (!selection.matches(stored)) continue
    if (limit > 0 && objects.length === limit) return { objects, more: true, fetched: found.length }
    objects.push(stored)
  }
  return { objects, more: false, fetched: found.length }
}

/** Taking more objects from the cache takes milliseconds. */
const largeObjectsMin = 10_000

/**
 * The few objects that can match: a field selector for metadata.name turns the list into a lookup, an index reduces it.
 * Undefined if all objects of the prefix have to be tried.
 */
function narrow(
  scope: RequestScope,
  { selection }: ListOptions,
  { prefix, after }: Position,
): Iterable<StoredObject> | undefined {
  const { registry, resource, info } = scope
  const { cache } = registry
  const namespace = info.namespace || selection.namespace || ''
  if (selection.name === undefined || (resource.scope === 'Namespaced' && namespace === '')) {
    const isWhole = namespace === info.namespace
    const range = { prefix: isWhole ? prefix : prefixOf(resource, namespace), after }
    const selected = cache.select(prefixOf(resource, ''), selection.conditions, range)
    return selected ?? (isWhole ? undefined : cache.list(range.prefix, after))
  }
  const stored = cache.get(keyOf(resource, namespace, selection.name))
  return stored === undefined || (after !== undefined && stored.key <= after) ? [] : [stored]
}

/** A page at an exact revision. */
async function pageAt(
  scope: RequestScope,
  options: ListOptions,
  position: Position & { readonly revision: number },
): Promise<ListPage> {
  const { prefix, revision } = position
  await waitUntilFresh(scope, revision)
  try {
    // Fails if the revision is compacted, even if the listed objects have not changed since.
    await scope.registry.store.get(prefix, { revision })
    if (isUnchanged(scope, position, Infinity)) {
      const page = await cachedPage(scope, options, position)
      // Objects may have changed before the page was taken from the cache.
      if (isUnchanged(scope, position, Number(page.meta.resourceVersion)))
        return { ...page, meta: withRevision(page.meta, { revision, prefix, last: page.objects.at(-1) }) }
    }
    return await storedPage(scope, options, position)
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
    throw expired(`The resourceVersion for the provided list is too old.`)
  }
}

/** True if no object under the prefix has changed after the revision up to the other one. */
function isUnchanged(
  { registry: { cache } }: RequestScope,
  { prefix, revision }: Position & { readonly revision: number },
  untilRevision: number,
): boolean {
  const events = cache.eventsAfter(prefix, revision)
  return events !== undefined && events.every(event => event.revision > untilRevision)
}

async function storedPage(
  scope: RequestScope,
  options: ListOptions,
  position: Position & { readonly revision: number },
): Promise<ListPage> {
  const { registry, resource } = scope
  const figures = { group: resource.group, resource: resource.plural, index: '', fetched: 0 }
  const page = await readStoredPage(scope, options, {
    ...position,
    onFetched: count => (figures.fetched += count),
  })
  registry.metrics?.watchCache.recordStoreList({ ...figures, returned: page.objects.length })
  return page
}

async function readStoredPage(
  { resource, registry: { cache } }: RequestScope,
  { selection, limit }: ListOptions,
  {
    prefix,
    after,
    revision,
    onFetched,
  }: Position & { readonly revision: number; readonly onFetched: (count: number) => void },
): Promise<ListPage> {
  const objects: StoredObject[] = []
  const pages = cache.listAt({ prefix, revision, after, limit: limit > 0 ? limit : storePageKeys })
  for await (const { objects: page, remaining } of pages) {
    onFetched(page.length)
    const found = selection.isAll ? page : await readObjects(resource, page)
    for (const [index, stored] of found.entries()) {
      if (!selection.isAll && !selection.matches(stored)) continue
      objects.push(stored)
      if (objects.length !== limit) continue
      const left = remaining + page.length - index - 1
      return {
        objects,
        meta: metaOf({
          revision,
          prefix,
          last: left === 0 ? undefined : stored,
          remaining: selection.isAll ? left : undefined,
        }),
      }
    }
  }
  return { objects, meta: metaOf({ revision, prefix, last: undefined, remaining: undefined }) }
}

/** Page size for reads from the store. */
const storePageKeys = 500

interface PageEnd {
  readonly revision: number
  readonly prefix: string
  /** The last object of the page; undefined if it is the final page. */
  readonly last: StoredObject | undefined
  readonly remaining: number | undefined
}

function metaOf({ revision, prefix, last, remaining }: PageEnd): ListMeta {
  return {
    resourceVersion: String(revision),
    ...(last && { continue: writeContinueToken({ revision, after: last.key.slice(prefix.length) }) }),
    ...(remaining && { remainingItemCount: remaining }),
  }
}

/** Relabels the page with an earlier revision at which its content was the same. */
function withRevision(
  meta: ListMeta,
  { revision, prefix, last }: Pick<PageEnd, 'revision' | 'prefix' | 'last'>,
): ListMeta {
  return metaOf({
    revision,
    prefix,
    last: meta.continue ? last : undefined,
    remaining: meta.remainingItemCount,
  })
}
