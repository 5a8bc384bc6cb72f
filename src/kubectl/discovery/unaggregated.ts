/** Discovery from servers before Kubernetes 1.26, which have a document for each group version. */
import type { Client } from '#/client/client.ts'
import type {
  ApiGroup,
  ApiGroupDiscoveryList,
  ApiGroupList,
  ApiResource,
  ApiResourceList,
  ApiVersionDiscovery,
} from './discovery-documents.ts'

/** `/api` or `/apis`, in the form of aggregated discovery. */
export async function discoverUnaggregated(client: Client, path: string): Promise<ApiGroupDiscoveryList> {
  const groups = path === '/api' ? [await coreGroup(client)] : await namedGroups(client)
  const items = groups.map(async group => {
    const versions = await Promise.all(
      group.versions.map(({ version }) => versionOf(client, { group: group.name, version })),
    )
    const preferred = versions.filter(({ version }) => version === group.preferredVersion.version)
    return {
      metadata: { name: group.name },
      versions: [...preferred, ...versions.filter(each => !preferred.includes(each))],
    }
  })
  return { items: await Promise.all(items) }
}

async function coreGroup(client: Client): Promise<ApiGroup> {
  const { versions = [] } = (await read(client, '/api')) as { readonly versions?: readonly string[] }
  const known = versions.map(version => ({ groupVersion: version, version }))
  return { name: '', versions: known, preferredVersion: known[0] ?? { groupVersion: 'v1', version: 'v1' } }
}

async function namedGroups(client: Client): Promise<readonly ApiGroup[]> {
  return ((await read(client, '/apis')) as Partial<ApiGroupList>).groups ?? []
}

async function versionOf(
  client: Client,
  { group, version }: { readonly group: string; readonly version: string },
): Promise<ApiVersionDiscovery> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  try {
    const { resources = [] } = (await read(client, path)) as Partial<ApiResourceList>
    return {
      version,
      resources: resources.filter(({ name }) => !name.includes('/')).map(each => discovered(each, resources)),
    }
  } catch {
    // An extension server that does not respond must not hide the other groups.
    return { version, freshness: 'Stale' }
  }
}

type Discovered = NonNullable<ApiVersionDiscovery['resources']>[number]

function discovered(resource: ApiResource, all: readonly ApiResource[]): Discovered {
  const kindOf = ({ group, version, kind }: ApiResource) => ({
    kind,
    ...(group && { group }),
    ...(version && { version }),
  })
  const subresources = all.filter(({ name }) => name.startsWith(`${resource.name}/`))
  return {
    resource: resource.name,
    singularResource: resource.singularName,
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    verbs: resource.verbs,
    ...(resource.shortNames && { shortNames: resource.shortNames }),
    ...(resource.categories && { categories: resource.categories }),
    responseKind: kindOf(resource),
    subresources: subresources.map(each => ({
      subresource: each.name.slice(resource.name.length + 1),
      verbs: each.verbs,
      responseKind: kindOf(each),
    })),
  }
}

async function read(client: Client, path: string): Promise<unknown> {
  const response = await client.raw({ method: 'GET', path })
  return response.value()
}
