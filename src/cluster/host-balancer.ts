/** The balancer of a host between the API servers of its cluster, at the address in the kubeconfigs of the host. */
import { join } from 'node:path'
import { ApiServerBalancer, type ServerList } from '#/api-balancer/api-server-balancer.ts'
import { ApiServerList, readServerList } from '#/api-balancer/api-server-list.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { localApiServerPort } from '#/kubeadm/host-processes.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export interface HostBalancerOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'files'>
  readonly connectHttp: HttpConnect
  /** The folder of the host. */
  readonly folder: string
}

/** The API servers of the cluster, for the balancer of the host. */
export function apiServersPath(folder: string): string {
  return join(folder, 'api-servers.json')
}

/** Runs until aborted. Rejects when the port is in use. */
export async function runHostBalancer(options: HostBalancerOptions, signal: AbortSignal): Promise<void> {
  const { platform } = options
  const known = await whenFound(options, () => knownServers(options), signal)
  if (known === undefined) return
  const { servers, own: preferredServer } = known
  const balancer = new ApiServerBalancer({ platform, port: localApiServerPort, servers, preferredServer })
  await Promise.all([balancer.run(signal), followServers(options, { balancer, servers }, signal)])
}

interface KnownServers {
  readonly servers: ServerList
  /** Of a control plane host: its components use no other one. */
  readonly own: string | undefined
}

/** Before its kubelet is started, a control plane host knows its own API server only, and before that none. */
async function knownServers(options: HostBalancerOptions): Promise<KnownServers | undefined> {
  const { platform, folder } = options
  const components = await connectionOf(options, 'controller-manager.conf')
  const own = components && new URL(components.server).host
  const path = apiServersPath(folder)
  if ((await platform.files.stat(path)) !== undefined)
    return { servers: await readServerList(platform, path), own }
  return own === undefined ? undefined : { servers: { servers: [own], bootstrapServers: [own] }, own }
}

interface Followed {
  readonly balancer: ApiServerBalancer
  readonly servers: ServerList
}

async function followServers(
  options: HostBalancerOptions,
  followed: Followed,
  signal: AbortSignal,
): Promise<void> {
  const { platform, connectHttp: connect, folder } = options
  // The identity of the node, as soon as the kubelet has bootstrapped it.
  const settings = await whenFound(options, () => connectionOf(options, 'kubelet.conf'), signal)
  if (settings === undefined) return
  await using transport = await openConnection({ platform, connect, settings })
  const client = clientOf({ platform, transport, userAgent: 'k8ts-host' })
  await new ApiServerList({ platform, path: apiServersPath(folder), client, ...followed }).run(signal)
}

/** Reads again when the folder of the host has changed, until there is a value; undefined when aborted before. */
async function whenFound<T>(
  { linux, folder }: HostBalancerOptions,
  read: () => Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T | undefined> {
  const changes = linux.files.watch(folder, signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const change = changes.next()
      const found = await read()
      if (found !== undefined) {
        change.catch(() => undefined)
        return found
      }
      if ((await change).done === true) return undefined
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/** Undefined if the kubeconfig does not exist. */
async function connectionOf(
  { platform, folder }: HostBalancerOptions,
  name: string,
): Promise<ConnectionSettings | undefined> {
  const explicitPath = join(folder, name)
  if ((await platform.files.stat(explicitPath)) === undefined) return undefined
  const sources = { explicitPath, environment: {}, workingFolder: folder }
  return settingsOf(await loadKubeconfig(platform, sources))
}
