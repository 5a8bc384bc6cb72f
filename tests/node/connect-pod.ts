/** Connects a namespace to a node's pod network with the real CNI plugins. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestNamespace } from './test-network.ts'

export interface ConnectPodOptions {
  readonly pod: TestNamespace
  /** Contains the CNI configuration folder `cni.d`. */
  readonly folder: string
  /** Host port for port 8080 of the pod. */
  readonly hostPort?: number
}

/** Calls the CNI plugins of the configuration in order, as a container runtime does. Returns the addresses. */
export async function connectPod(
  command: 'ADD' | 'DEL',
  node: TestNamespace,
  { pod, folder, hostPort }: ConnectPodOptions,
): Promise<readonly string[]> {
  const text = await readFile(join(folder, 'cni.d', '10-k8ts.conflist'), 'utf8')
  const { plugins, ...common } = JSON.parse(text) as {
    readonly plugins: readonly { readonly type: string }[]
  }
  const portMappings = hostPort === undefined ? [] : [{ hostPort, containerPort: 8080, protocol: 'tcp' }]
  let prevResult: { readonly ips?: readonly { readonly address: string }[] } | undefined
  for (const plugin of command === 'ADD' ? plugins : plugins.toReversed()) {
    const stdin = JSON.stringify({ ...common, ...plugin, runtimeConfig: { portMappings }, prevResult })
    const environment = [
      `CNI_COMMAND=${command}`,
      `CNI_CONTAINERID=${pod.name}`,
      `CNI_NETNS=/var/run/netns/${pod.name}`,
      'CNI_IFNAME=eth0',
      'CNI_PATH=/usr/lib/cni',
    ]
    const output = await node.linux.run(['env', ...environment, `/usr/lib/cni/${plugin.type}`], { stdin })
    if (command === 'ADD') prevResult = JSON.parse(output) as typeof prevResult
  }
  return prevResult?.ips?.flatMap(({ address }) => address.split('/')[0] ?? []) ?? []
}
