/**
 * The addon `gateway-api`: the CustomResourceDefinitions of the Gateway API and the GatewayClass `k8ts`.
 * Definitions that others have installed, such as the official ones, are used as they are, and are not
 * removed.
 */
import { isApiError } from '#/api/errors.ts'
import { isTrue } from '#/api/conditions.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import { Informer } from '#/client/informer.ts'
import { customResource, type KubernetesObject } from '#/custom-resource/custom-resource.ts'
import { defaultGatewayClass, gatewayApiDefinitions } from '#/gateway/gateway-api.ts'
import type { Addon, AddonTarget } from './addon.ts'

export const gatewayApi: Addon = {
  summary: 'kinds of the Gateway API and the GatewayClass k8ts',
  async enable(target) {
    const { client } = target
    for (const definition of await definitionsToInstall(client)) {
      const { metadata } = definition
      const labelled = { ...definition, metadata: { ...metadata, labels: { ...ownLabels } } }
      await client.apply(customResourceDefinitions, labelled, { fieldManager, force: true })
    }
    await waitUntilEstablished(target)
    await createGatewayClass(target)
    return `GatewayClass ${defaultGatewayClass.metadata.name} is ready`
  },
  async disable({ client }, { force }) {
    const installed = await ownDefinitions(client)
    const used = force ? [] : await countObjects(client, installed)
    if (used.length > 0) {
      const kinds = used.map(({ kind, count }) => `${count} ${kind}`).join(', ')
      throw new Error(
        `gateway-api is in use: ${kinds}; delete these objects first, or all of them with --force`,
      )
    }
    await ignoreNotFound(client.delete(gatewayClasses, defaultGatewayClass.metadata))
    for (const { metadata } of installed)
      await ignoreNotFound(client.delete(customResourceDefinitions, { name: metadata.name ?? '' }))
  },
  async isEnabled({ client }) {
    try {
      return (await client.find(gatewayClasses, defaultGatewayClass.metadata)) !== undefined
    } catch (error) {
      if (isApiError(error, 'NotFound')) return false
      throw error
    }
  },
}

const fieldManager = 'k8ts-addon'

const ownLabels = { 'app.kubernetes.io/managed-by': fieldManager } as const

const establishedTimeoutMs = 60_000

const gatewayClasses = customResource<KubernetesObject>({
  group: 'gateway.networking.k8s.io',
  version: 'v1',
  kind: 'GatewayClass',
  plural: 'gatewayclasses',
  scope: 'Cluster',
})

/** Those that do not exist, and those that an older version of k8ts has installed. */
async function definitionsToInstall(client: Client): Promise<readonly CustomResourceDefinition[]> {
  const existing = await findDefinitions(client)
  return gatewayApiDefinitions.filter(({ metadata }) => {
    const found = existing.find(each => each.metadata.name === metadata.name)
    return found === undefined || isOwn(found)
  })
}

async function ownDefinitions(client: Client): Promise<readonly CustomResourceDefinition[]> {
  return (await findDefinitions(client)).filter(isOwn)
}

async function findDefinitions(client: Client): Promise<readonly CustomResourceDefinition[]> {
  const found = await Promise.all(
    gatewayApiDefinitions.map(({ metadata }) => {
      return client.find(customResourceDefinitions, { name: metadata.name ?? '' })
    }),
  )
  return found.filter(each => each !== undefined)
}

function isOwn({ metadata }: CustomResourceDefinition): boolean {
  return metadata.labels?.['app.kubernetes.io/managed-by'] === fieldManager
}

async function waitUntilEstablished({ platform, client }: AddonTarget): Promise<void> {
  const informer = new Informer({ platform, client, resource: customResourceDefinitions })
  const stopping = new AbortController()
  const running = informer.run(stopping.signal)
  const timer = platform.clock.setTimer(establishedTimeoutMs, () => {
    stopping.abort(new Error('the definitions of the Gateway API were not established within a minute'))
  })
  try {
    await informer.waitUntil(
      () =>
        gatewayApiDefinitions.every(({ metadata }) => {
          return isTrue(informer.get(metadata.name ?? '')?.status?.conditions, 'Established')
        }),
      stopping.signal,
    )
  } finally {
    timer.cancel()
    stopping.abort()
    await running
  }
}

/** Some API servers serve a new resource only some time after it was established. */
async function createGatewayClass({ platform, client }: AddonTarget): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.apply(gatewayClasses, defaultGatewayClass, { fieldManager, force: true })
      return
    } catch (error) {
      if (!isApiError(error, 'NotFound') || attempt === attemptsMax) throw error
    }
    await platform.clock.sleep(attemptMs)
  }
}

const attemptsMax = 50
const attemptMs = 200

interface KindCount {
  readonly kind: string
  readonly count: number
}

/** All kinds with objects; the GatewayClass that the addon creates does not count. */
async function countObjects(
  client: Client,
  definitions: readonly CustomResourceDefinition[],
): Promise<readonly KindCount[]> {
  const counts = await Promise.all(
    definitions.map(async ({ spec }) => {
      const version = spec.versions.find(({ storage }) => storage)?.name ?? ''
      const { group, names, scope } = spec
      const resource = customResource({ ...names, group, version, scope: scope as 'Namespaced' | 'Cluster' })
      const { items } = await client.listAll(resource, { metadataOnly: true })
      const others = items.filter(({ metadata }) => {
        return names.kind !== 'GatewayClass' || metadata.name !== defaultGatewayClass.metadata.name
      })
      return { kind: names.kind, count: others.length }
    }),
  )
  return counts.filter(({ count }) => count > 0)
}

async function ignoreNotFound(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
