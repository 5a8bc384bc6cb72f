import { commonResources } from './discovered.ts'
import type { ServerPair } from './pair.ts'
import type { ServerDocuments } from './plan.ts'
import type { ServerConnection } from './server-connection.ts'

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** The resources that both servers have, and the schemas of the reference. */
export async function readDocuments({ ours, theirs }: ServerPair): Promise<ServerDocuments> {
  const discover = async (server: ServerConnection): Promise<readonly unknown[]> => [
    await server.get('/api', aggregated),
    await server.get('/apis', aggregated),
  ]
  const { common, others } = commonResources(await discover(theirs), await discover(ours))
  if (others.length > 0) process.stderr.write(`only one server has ${others.join(', ')}\n`)
  const { paths } = (await theirs.get('/openapi/v3')) as { readonly paths: Readonly<Record<string, unknown>> }
  const openApi: unknown[] = []
  for (const path of Object.keys(paths)
    .filter(path => /^apis?\/.*v\d/.test(path))
    .sort()) {
    openApi.push(await theirs.get(`/openapi/v3/${path}`))
  }
  return { resources: common, openApi }
}
