/** A cluster whose objects are those of the YAML files beside this one, exactly as they are there. */
import type { TestContext } from 'node:test'
import { builtinResources } from '#/api/builtin.ts'
import { groupVersionKindOf } from '#/api/group-version.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import { isObject } from '#/api/text/json-object.ts'
import { readYamlDocuments } from '#/api/text/yaml.ts'
import { startTestServer, type TestServer } from '#/apiserver/test-server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport, type InProcessOptions } from '#/client/in-process.ts'
import type { Transport } from '#/client/transport.ts'
import { readAll } from '#/base/read-all.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export interface StoredCluster {
  readonly server: TestServer['server']
  /** By file: `pods`. */
  readonly objects: ReadonlyMap<string, readonly KubernetesObject[]>
}

export async function startStoredCluster(t: Pick<TestContext, 'after'>): Promise<StoredCluster> {
  const store = await MemoryStore.open({ platform })
  const objects = await readObjects()
  for (const object of [...objects.values()].flat()) {
    const { resourceVersion: _version, ...metadata } = object.metadata
    const value = stringifyJson({ ...object, metadata } as never)
    await store.create(keyOf(object), Buffer.from(value))
  }
  const { server } = await startTestServer(t, platform, { store })
  return { server, objects }
}

async function readObjects(): Promise<Map<string, readonly KubernetesObject[]>> {
  const names = await platform.files.list(import.meta.dirname)
  const objects = new Map<string, readonly KubernetesObject[]>()
  for (const name of names.filter(name => name.endsWith('.yaml'))) {
    const documents = readYamlDocuments(await platform.files.read(`${import.meta.dirname}/${name}`))
    const values = [...documents].map(({ value }) => value).filter(value => isObject(value))
    objects.set(name.slice(0, -'.yaml'.length), values.map(objectOf))
  }
  return objects
}

/** A client that gets what is decoded from the bytes of responses, as one of another process. */
export function clientOver(options: InProcessOptions): Client {
  const inProcess = inProcessTransport(options)
  const transport: Transport = {
    request: async request => {
      const response = await inProcess.request(request)
      return { ...response, value: async () => parseJson(await readAll(response.bytes(), 1_000_000)) }
    },
  }
  return clientOf({ platform, transport, userAgent: 'kubectl' })
}

/** The text that real kubectl wrote about the objects of a file. */
export async function readTranscript(name: string): Promise<string> {
  return Buffer.from(await platform.files.read(`${import.meta.dirname}/${name}.txt`)).toString()
}

/** Undefined for a custom resource. */
export function builtinResourceOf(object: KubernetesObject): Resource | undefined {
  const { group = '', kind } = groupVersionKindOf(object) ?? {}
  return builtinResources().find(resource => resource.kind === kind && resource.group === group)
}

export const widgets: Resource = {
  ...builtinResources()[0]!,
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  singular: 'widget',
  scope: 'Namespaced',
}

/** Resources whose place in the store is not that of their name. */
const folders: Readonly<Record<string, string>> = {
  endpoints: 'services/endpoints',
  ingresses: 'ingress',
  nodes: 'minions',
  replicationcontrollers: 'controllers',
  services: 'services/specs',
  customresourcedefinitions: 'apiextensions.k8s.io/customresourcedefinitions',
}

function keyOf(object: KubernetesObject): string {
  const { name = '', namespace } = object.metadata
  const plural = builtinResourceOf(object)?.plural
  const folder = plural === undefined ? `${widgets.group}/${widgets.plural}` : (folders[plural] ?? plural)
  return `/registry/${[folder, ...(namespace === undefined ? [] : [namespace]), name].join('/')}`
}
