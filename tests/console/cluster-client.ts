/** Requests of the administrator to the API server of a cluster, to set up what the page shows. */
import assert from 'node:assert/strict'
import { waitUntil } from '../wait-until.ts'
import { adminClient, type AdminClient } from '../up/process.ts'

export interface ClusterClient {
  readonly admin: AdminClient
  readonly create: (path: string, object: object) => Promise<KubernetesAnswer>
  readonly patch: (path: string, patch: object) => Promise<KubernetesAnswer>
  readonly get: (path: string) => Promise<KubernetesAnswer>
  readonly remove: (path: string) => Promise<void>
  /** Waits until an object satisfies the condition. */
  readonly until: (path: string, condition: (object: KubernetesAnswer) => boolean) => Promise<void>
}

export interface KubernetesAnswer {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly remainingItemCount?: number
  }
  readonly status?: Readonly<Record<string, unknown>>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly items?: readonly KubernetesAnswer[]
}

export async function clusterClient(folder: string): Promise<ClusterClient> {
  const admin = await adminClient(folder)
  const send = async (method: string, path: string, { type, body }: Sent = {}): Promise<KubernetesAnswer> => {
    const headers = type === undefined ? {} : { 'content-type': type }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await admin.ask(path, { method, headers }, text)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return JSON.parse(answer.text) as KubernetesAnswer
  }
  const get = (path: string): Promise<KubernetesAnswer> => send('GET', path)
  return {
    admin,
    get,
    create: (path, body) => send('POST', path, { type: 'application/json', body }),
    patch: (path, body) => send('PATCH', path, { type: 'application/merge-patch+json', body }),
    remove: async path => void (await send('DELETE', path)),
    until: (path, condition) => waitUntil(async () => condition(await get(path))),
  }
}

interface Sent {
  readonly type?: string
  readonly body?: object
}

export const defaultPods = '/api/v1/namespaces/default/pods'
export const defaultDeployments = '/apis/apps/v1/namespaces/default/deployments'

/** A pod that a simulated node runs. */
export function podOf(name: string, { metadata = {}, spec = {} }: PodParts = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'main' }], terminationGracePeriodSeconds: 0, ...spec },
  }
}

interface PodParts {
  readonly metadata?: object
  readonly spec?: object
}

export function deploymentOf(name: string, replicas: number): object {
  const labels = { app: name }
  const spec = { containers: [{ name: 'main', image: 'main' }], terminationGracePeriodSeconds: 0 }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}
