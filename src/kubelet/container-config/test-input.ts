/** Complete input for container configuration tests; tests override the fields that they are about. */
import type { ConfigMap, Container, PodSpec, Secret } from '#/api/generated/core/v1.ts'
import type { ContainerInput, ContainerSources, ContainerVolume } from '../container-input.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { MachineInfo } from '../machine-info.ts'
import { kubeletConfiguration, type KubeletConfiguration } from '../kubelet-configuration.ts'

export const machine: MachineInfo = {
  memoryBytes: 8 * 1024 ** 3,
  cgroupVersion: 1,
  canLimitSwap: false,
  hugePageSizes: [],
  maskedPaths: [],
  pidsMax: 32_768,
  capacity: { 'cpu': '4', 'memory': '8Gi', 'ephemeral-storage': '100Gi' },
  allocatable: { 'cpu': '4', 'memory': '7Gi', 'ephemeral-storage': '90Gi' },
}

export const node: KubeletConfiguration = kubeletConfiguration({
  name: 'node-1',
  addresses: ['192.168.0.7'],
  rootDirectory: '/node',
  cgroupRoot: '/k8ts-0',
  clusterDNS: ['10.96.0.10'],
})

export function podWith(spec: Partial<PodSpec> = {}): KubeletPod {
  return {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u-1',
      labels: { app: 'web', tier: 'front' },
      annotations: { 'note': 'a "quoted"\nnote', 'Example.com/Key': 'upper' },
    },
    spec: { containers: [], nodeName: 'node-1', serviceAccountName: 'sa', ...spec },
  }
}

export interface Given {
  readonly spec?: Partial<PodSpec>
  readonly container?: Partial<Container>
  readonly configMaps?: Readonly<Record<string, ConfigMap['data']>>
  /** Plain text, not base64. */
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly volumes?: readonly (Partial<ContainerVolume> & { readonly name: string })[]
  readonly files?: Readonly<Record<string, string>>
  readonly more?: Partial<ContainerInput>
}

export function inputOf(given: Given): ContainerInput {
  const container: Container = { name: 'c', image: 'app:1', ...given.container }
  const volumes = (given.volumes ?? []).map(({ name, ...rest }): readonly [string, ContainerVolume] => {
    return [name, { name, hostPath: `/volumes/${name}`, readonly: false, ...rest }]
  })
  return {
    pod: podWith({ containers: [container], ...given.spec }),
    container,
    attempt: 0,
    image: { id: 'sha256:1', tags: [], digests: [], sizeBytes: 1, isPinned: false },
    podAddresses: ['10.244.1.5'],
    services: [],
    volumes: new Map(volumes),
    sources: sourcesOf(given),
    node,
    machine,
    ...given.more,
  }
}

function sourcesOf({ configMaps = {}, secrets = {}, files = {} }: Given): ContainerSources {
  return {
    async configMap(name): Promise<ConfigMap | undefined> {
      return name in configMaps ? { metadata: { name }, data: configMaps[name] ?? {} } : undefined
    },
    async secret(name): Promise<Secret | undefined> {
      const texts = secrets[name]
      if (texts === undefined) return undefined
      const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
      return { metadata: { name }, data: Object.fromEntries(data) as Record<string, string> }
    },
    async subPath(mount, index): Promise<string> {
      if (mount.subPath === 'broken') throw new Error('ELOOP: /secret/path of the node')
      return `/subpaths/${index}/${mount.subPath}`
    },
    async file(volume, path): Promise<string | undefined> {
      return files[`${volume.name}/${path}`]
    },
  }
}
