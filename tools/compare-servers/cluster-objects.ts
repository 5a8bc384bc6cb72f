/** The namespace and the custom resource of the tool: created before the comparison, removed after it. */
import { ownNamespace, pathOf, type DiscoveredResource } from './discovered.ts'
import { widgetDefinition } from './examples/extensions.ts'
import { json, mergePatch, type RequestBody } from './request.ts'
import { isStored } from './requests/plan-context.ts'
import type { ServerConnection } from './server-connection.ts'

const namespaces = '/api/v1/namespaces'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definitionName = 'widgets.compare-servers.example.com'
const fixtureNamespaces = ['compare-rich', 'compare-minimal', 'compare-life', ownNamespace]

/** A namespace gets its service account from a controller, and loses its finalizer by one, if there are controllers. */
const controllersMs = 2_000
const discoveryMs = 30_000
const pauseMs = 200

export async function createClusterObjects(server: ServerConnection): Promise<void> {
  await removeClusterObjects(server)
  const metadata = { name: ownNamespace, labels: { 'compare-servers': 'yes' } }
  await send(server, 'POST', namespaces, json({ apiVersion: 'v1', kind: 'Namespace', metadata }))
  const account = `${namespaces}/${ownNamespace}/serviceaccounts`
  if (
    !(await isTrueWithin(controllersMs, async () => (await statusOf(server, `${account}/default`)) === 200))
  ) {
    await send(server, 'POST', account, json({ metadata: { name: 'default' } }))
  }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: definitionName },
    ...widgetDefinition('widgets', 'Widget', 'compare-servers.example.com'),
  }
  await send(server, 'POST', definitions, json(definition))
  const isServed = async (): Promise<boolean> => {
    const path = '/openapi/v3/apis/compare-servers.example.com/v1'
    return (
      (await statusOf(server, path)) === 200 &&
      JSON.stringify(await server.get('/apis')).includes('compare-servers.example.com')
    )
  }
  if (!(await isTrueWithin(discoveryMs, isServed)))
    throw new Error(`${server.address}: ${definitionName} is not served`)
}

export async function removeClusterObjects(server: ServerConnection): Promise<void> {
  const path = `${definitions}/${definitionName}`
  await send(server, 'DELETE', path)
  await isTrueWithin(discoveryMs, async () => (await statusOf(server, path)) === 404)
  await Promise.all(fixtureNamespaces.map(name => removeNamespace(server, name)))
}

async function removeNamespace(server: ServerConnection, name: string): Promise<void> {
  const path = `${namespaces}/${name}`
  if ((await send(server, 'DELETE', path)) === 404) return
  if (await isTrueWithin(controllersMs, async () => (await statusOf(server, path)) === 404)) return
  await send(server, 'PUT', `${path}/finalize`, json({ metadata: { name }, spec: { finalizers: [] } }))
}

/**
 * Removes all objects that have the label of the tool, also those of an interrupted run. Finalizers go as well: not
 * every server has the controllers that remove them.
 */
export async function removeObjects(
  server: ServerConnection,
  resources: readonly DiscoveredResource[],
): Promise<void> {
  for (const resource of resources.filter(isStored)) {
    const path = `${pathOf(resource)}?labelSelector=compare-servers`
    // A custom resource may be gone already.
    if ((await statusOf(server, path)) === 404) continue
    for (const { metadata } of ((await server.get(path)) as List).items) {
      if (metadata.name === ownNamespace) continue
      const path = pathOf(resource, { name: metadata.name })
      await send(server, 'DELETE', `${path}?gracePeriodSeconds=0&propagationPolicy=Background`)
      if ((await statusOf(server, path)) === 404) continue
      await send(server, 'PATCH', path, mergePatch({ metadata: { finalizers: null } }))
    }
  }
}

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

async function statusOf(server: ServerConnection, path: string): Promise<number> {
  return send(server, 'GET', path)
}

async function send(
  server: ServerConnection,
  method: string,
  path: string,
  body?: RequestBody,
): Promise<number> {
  const { status } = await server.send({ method, path, headers: {}, ...(body && { body }) })
  return status
}

async function isTrueWithin(timeoutMs: number, condition: () => Promise<boolean>): Promise<boolean> {
  for (let passedMs = 0; passedMs < timeoutMs; passedMs += pauseMs) {
    if (await condition()) return true
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
  return condition()
}
