import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'

/** Checks that the informers of the settled cluster have the same objects as the API server. */
export async function checkInformers(
  client: Client,
  informers: ReadonlyMap<string, readonly Informer<KubernetesObject>[]>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const [who, copies] of informers) {
    for (const copy of copies) found.push(...(await checkInformer(client, who, copy)))
  }
  return found
}

async function checkInformer(
  client: Client,
  who: string,
  informer: Informer<KubernetesObject>,
): Promise<readonly string[]> {
  const { resource, selection } = informer
  const { items } = await client.listAll(resource, selection)
  const there = new Map(items.map(object => [keyOf(object), versionOf(object)]))
  const what = `informer of ${resource.plural} in ${who}`
  return [
    ...informer
      .list()
      .filter(object => !there.has(keyOf(object)))
      .map(object => `${what}: ${keyOf(object)} does not exist`),
    ...[...there]
      .filter(([key, version]) => versionOf(informer.get(key)) !== version)
      .map(([key, version]) => `${what}: ${key} does not have resourceVersion ${version}`),
  ]
}

function versionOf(object: KubernetesObject | undefined): string | undefined {
  return object?.metadata.resourceVersion
}
