import { isApiError } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { ListOptions, ObjectList } from '../client.ts'

/** Page size: large enough to make the number of requests negligible, small enough for cheap pages. */
const pageObjects = 500

type Page = Pick<ListOptions, 'limit' | 'continue' | 'resourceVersion' | 'resourceVersionMatch'>

/**
 * Lists all pages as one list. All pages have the resourceVersion of the first; when the continue token
 * expires, the list is repeated without a limit.
 */
export async function listPages<T extends KubernetesObject>(
  list: (page: Page) => Promise<ObjectList<T>>,
  limit = pageObjects,
): Promise<ObjectList<T>> {
  const first = await list({ limit })
  if (!first.metadata.continue) return first
  const items = [...first.items]
  let token: string | undefined = first.metadata.continue
  while (token) {
    let page: ObjectList<T>
    try {
      page = await list({
        limit,
        continue: token,
        resourceVersion: undefined,
        resourceVersionMatch: undefined,
      })
    } catch (error) {
      if (isApiError(error, 'Expired') || isApiError(error, 'Gone')) return list({ limit: undefined })
      throw error
    }
    items.push(...page.items)
    token = page.metadata.continue
  }
  const { resourceVersion } = first.metadata
  return { items, metadata: resourceVersion === undefined ? {} : { resourceVersion } }
}
