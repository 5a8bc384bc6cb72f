/** Lists: served from the cache if it has the requested revision, and from the store for older revisions. */
import { ApiError, badRequest, expired, isApiError } from '#/api/errors.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import { StoreError } from '#/store/store.ts'
import { isConvertedOnRead, readObjects } from '../registry/convert-objects.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import type { ApiResponse } from '../request.ts'
import { listBody, type ListMeta } from '../list-body.ts'
import type { WholeList } from '../registry/list-items-cache.ts'
import { readContinueToken, writeContinueToken } from './continue-token.ts'
import { readListOptions, type ListOptions } from './list-options.ts'
import type { RequestScope } from './request-scope.ts'
import { waitUntilFresh } from './wait-until-fresh.ts'

export async function list(scope: RequestScope): Promise<ApiResponse> {
  const options = readListOptions(scope)
  const page = await readPage(scope, options)
  return { status: 200, body: listBody(scope.view, page, { ...scope, whole: page.whole }) }
}

export interface ListPage {
  readonly objects: readonly StoredObject[]
  readonly meta: ListMeta
  /** Set if the page contains everything under a prefix at the current revision. */
  readonly whole?: WholeList
}

/** The objects of the page are in the version of the request. */
export async function readPage(scope: RequestScope, options: ListOptions): Promise<ListPage> {
  const page = await readStoredPage(scope, options)
  return { ...page, objects: await readObjects(scope.resource, page.objects) }
}

async function readStoredPage(scope: RequestScope, options: ListOptions): Promise<ListPage> {
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
  if (options.resourceVersion !== undefined && options.resourceVersion !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue')
  }
  const token = readContinueToken(options.continueToken)
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
  const { cache } = scope.registry
  const { selection } = options
  const { conditions } = selection
  if (conditions.length > 0) await cache.prepareIndexes(prefixOf(scope.resource, ''), conditions)
  // The objects are taken from the cache at once, at its revision.
  const { revision } = cache
  const found = candidates(scope, options, { prefix, after })
  const { objects, more } = selection.isAll
    ? take(found, options.limit || Infinity)
    : await matching(scope, options, [...found])
  const last = objects.at(-1)
  const remaining = more && selection.isAll && last ? cache.countAfter(prefix, last.key) : undefined
  const isWhole = selection.isAll && !more && after === undefined
  return {
    objects,
    meta: metaOf({ revision, prefix, last: more ? last : undefined, remaining }),
    ...(isWhole && { whole: { prefix, changedRevision: cache.lastChange(prefix) } }),
  }
}

interface Taken {
  readonly objects: readonly StoredObject[]
  /** True if there are more than the limit. */
  readonly more: boolean
}

function take(found: Iterable<StoredObject>, limit: number): Taken {
  const objects: StoredObject[] = []
  for (const stored of found) {
    if (objects.length === limit) return { objects, more: true }
    objects.push(stored)
  }
  return { objects, more: false }
}

async function matching(
  { resource, registry }: RequestScope,
  { selection, limit }: ListOptions,
  found: readonly StoredObject[],
): Promise<Taken> {
  const objects: StoredObject[] = []
  const slices = new TimeSlices(registry.platform.clock)
  for (const stored of isConvertedOnRead(resource) ? await readObjects(resource, found) : found) {
    const pause = slices.pause()
    if (pause) await pause
    if (!selection.matches(stored)) continue
    if (limit > 0 && objects.length === limit) return { objects, more: true }
    objects.push(stored)
  }
  return { objects, more: false }
}

/** A field selector for metadata.name turns the list into a lookup. */
function candidates(
  scope: RequestScope,
  { selection }: ListOptions,
  { prefix, after }: Position,
): Iterable<StoredObject> {
  const { registry, resource, info } = scope
  const { cache } = registry
  const namespace = info.namespace || selection.namespace || ''
  if (selection.name === undefined || (resource.scope === 'Namespaced' && namespace === '')) {
    const range = { prefix: namespace === info.namespace ? prefix : prefixOf(resource, namespace), after }
    const selected = cache.select(prefixOf(resource, ''), selection.conditions, range)
    return selected ?? cache.list(range.prefix, after)
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
    if (scope.registry.cache.eventsAfter(prefix, revision)?.length === 0) {
      const page = await cachedPage(scope, options, position)
      return {
        objects: page.objects,
        meta: withRevision(page.meta, { revision, prefix, last: page.objects.at(-1) }),
      }
    }
    return await storedPage(scope, options, position)
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
    throw expired(`The resourceVersion for the provided list is too old.`)
  }
}

async function storedPage(
  { resource, registry: { cache } }: RequestScope,
  { selection, limit }: ListOptions,
  { prefix, after, revision }: Position & { readonly revision: number },
): Promise<ListPage> {
  const objects: StoredObject[] = []
  const pages = cache.listAt({ prefix, revision, after, limit: limit > 0 ? limit : storePageKeys })
  for await (const { objects: page, remaining } of pages) {
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
