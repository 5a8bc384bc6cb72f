/** Compares discovery documents with those of a real API server, group by group. */
import { compareValues, type Difference } from './compare-values.ts'
import type { Get } from './served.ts'

export type DiscoveryDocument = GroupList | ResourceList

interface GroupList {
  readonly kind: 'APIGroupDiscoveryList'
  readonly items: readonly GroupDiscovery[]
}

interface GroupDiscovery {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly { readonly version: string }[]
}

interface ResourceList {
  readonly kind: 'APIResourceList'
  readonly groupVersion: string
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Disabled versions are not reported as missing, unless `isWhole`. */
export async function compareDiscovery(
  document: DiscoveryDocument,
  get: Get,
  { isWhole }: { readonly isWhole: boolean },
): Promise<readonly Difference[]> {
  if (document.kind === 'APIResourceList') {
    const { groupVersion } = document
    const path = groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`
    const ours = await get(path)
    return ours === undefined && !isWhole ? [] : compareValues(ours, document, path)
  }
  const ours = (await get('/apis', aggregated)) as GroupList
  return isWhole ? compareValues(ours, document) : compareServed(ours, document)
}

function compareServed(ours: GroupList, theirs: GroupList): readonly Difference[] {
  return ours.items.flatMap(({ metadata: { name }, versions }) => {
    const group = theirs.items.find(each => each.metadata.name === name)
    return versions.flatMap(version =>
      compareValues(
        version,
        group?.versions.find(each => each.version === version.version),
        `/${name}/${version.version}`,
      ),
    )
  })
}
