/**
 * The processes of a host of a cluster: the command lines of the control plane components and of those of a node, with
 * the flags that kubeadm sets and the `extraArgs` of the configuration in place of them.
 */
import { join } from 'node:path'
import type { Taint } from '#/api/generated/core/v1.ts'
import type { Arg } from './configuration.ts'
import type { InitSettings } from './init-settings.ts'

export interface HostProcess {
  /** As in Kubernetes: `kube-apiserver`. */
  readonly name: string
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Port on loopback at which clients of a host reach an API server of the cluster. */
export const localApiServerPort = 6_444

export const localApiServerUrl = `https://127.0.0.1:${localApiServerPort}`

/** A name in the certificate of every API server, also of those that kubeadm makes, which lack the loopback address. */
export const apiServerName = 'kubernetes'

/** Of the client port of the etcd member of a host. */
const localEtcd = 'https://127.0.0.1:2379'

/** API server, controller manager and scheduler. */
export function planControlPlaneProcesses(settings: InitSettings): readonly HostProcess[] {
  const { clusterConfiguration: cluster } = settings
  return [
    k8tsProcess(['kube-apiserver', 'apiserver'], apiServerFlags(settings), cluster.apiServer?.extraArgs),
    k8tsProcess(
      ['kube-controller-manager', 'controller-manager'],
      controllerManagerFlags(settings),
      cluster.controllerManager?.extraArgs,
    ),
    k8tsProcess(['kube-scheduler', 'scheduler'], schedulerFlags(settings), cluster.scheduler?.extraArgs),
  ]
}

/** By which pods of several nodes reach each other; `none` leaves it to another CNI plugin. */
export type PodNetworkBackend = 'vxlan' | 'host-gw' | 'none'

/** The kubelet, and the service proxy unless the cluster has another one. */
export function planNodeProcesses(
  settings: InitSettings,
  podNetwork: PodNetworkBackend,
): readonly HostProcess[] {
  const { hasProxy, kubeletExtraArgs } = settings
  const kubelet = k8tsProcess(['kubelet', 'kubelet'], kubeletFlags(settings, podNetwork), kubeletExtraArgs)
  const proxy = k8tsProcess(['kube-proxy', 'proxy'], proxyFlags(settings, podNetwork))
  return hasProxy ? [kubelet, proxy] : [kubelet]
}

function kubeletFlags(
  { folder, nodeName, advertiseAddress, taints }: InitSettings,
  podNetwork: PodNetworkBackend,
): Flags {
  return {
    'data-dir': folder,
    'config': join(folder, 'kubelet/config.yaml'),
    'kubeconfig': join(folder, 'kubelet.conf'),
    'bootstrap-kubeconfig': join(folder, 'bootstrap-kubelet.conf'),
    'hostname-override': nodeName,
    'node-ip': advertiseAddress,
    'cgroup-root': `/k8ts-${nodeName}`,
    'pod-network': podNetwork,
    ...(taints.length > 0 && { 'register-with-taints': taints.map(formatTaint).join() }),
  }
}

function formatTaint({ key, value, effect }: Taint): string {
  return value === undefined ? `${key}:${effect}` : `${key}=${value}:${effect}`
}

/** Its certificate is requested and renewed by the identity of the kubelet. */
function proxyFlags(settings: InitSettings, podNetwork: PodNetworkBackend): Flags {
  const { folder, nodeName, podSubnets } = settings
  return {
    'data-dir': folder,
    'kubeconfig': join(folder, 'kube-proxy.conf'),
    'bootstrap-kubeconfig': join(folder, 'kubelet.conf'),
    'hostname-override': nodeName,
    'pod-network': podNetwork,
    ...(podSubnets.length > 0 && { 'cluster-cidr': podSubnets.join() }),
  }
}

/** The DNS server of the cluster, on a control plane host. */
export function planDnsProcess(settings: InitSettings): HostProcess {
  const { folder, nodeName, advertiseAddress, clusterDns, dnsDomain } = settings
  return k8tsProcess(['coredns', 'dns'], {
    'kubeconfig': join(folder, 'dns.conf'),
    'node-name': nodeName,
    'bind-address': advertiseAddress,
    'cluster-dns': clusterDns[0] ?? '',
    'cluster-domain': dnsDomain,
  })
}

function apiServerFlags(settings: InitSettings): Flags {
  const { folder, certificatesDir, advertiseAddress, bindPort, serviceSubnets } = settings
  return {
    'data-dir': folder,
    'cert-dir': certificatesDir,
    'bind': advertiseAddress.includes(':') ? '::' : '0.0.0.0',
    'port': String(bindPort),
    'advertise-address': advertiseAddress,
    'service-cluster-ip-range': serviceSubnets.join(),
    'enable-bootstrap-token-auth': 'true',
    ...storeFlags(settings),
  }
}

function storeFlags({ etcd, certificatesDir }: InitSettings): Flags {
  const inPki = (name: string): string => join(certificatesDir, name)
  if (etcd.type === 'embedded') return { store: 'embedded' }
  if (etcd.type === 'local')
    return {
      'etcd-servers': localEtcd,
      'etcd-cafile': inPki('etcd/ca.crt'),
      'etcd-certfile': inPki('apiserver-etcd-client.crt'),
      'etcd-keyfile': inPki('apiserver-etcd-client.key'),
    }
  const { endpoints = [], caFile, certFile, keyFile } = etcd.external
  return {
    'etcd-servers': endpoints.join(),
    ...(caFile && { 'etcd-cafile': caFile }),
    ...(certFile && { 'etcd-certfile': certFile }),
    ...(keyFile && { 'etcd-keyfile': keyFile }),
  }
}

function controllerManagerFlags(settings: InitSettings): Flags {
  const { folder, certificatesDir, podSubnets, serviceSubnets } = settings
  const inPki = (name: string): string => join(certificatesDir, name)
  return {
    ...componentFlags(join(folder, 'controller-manager.conf')),
    'controllers': '*,bootstrap-signer-controller,token-cleaner-controller',
    'use-service-account-credentials': 'true',
    'root-ca-file': inPki('ca.crt'),
    'service-account-private-key-file': inPki('sa.key'),
    'cluster-signing-cert-file': inPki('ca.crt'),
    'cluster-signing-key-file': inPki('ca.key'),
    'service-cluster-ip-range': serviceSubnets.join(),
    ...(podSubnets.length > 0 && { 'allocate-node-cidrs': 'true', 'cluster-cidr': podSubnets.join() }),
  }
}

function schedulerFlags({ folder }: InitSettings): Flags {
  return componentFlags(join(folder, 'scheduler.conf'))
}

function componentFlags(kubeconfig: string): Flags {
  return {
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': '127.0.0.1',
    'leader-elect': 'true',
  }
}

type Flags = Readonly<Record<string, string>>

/** Extra arguments replace flags of the same name; one that is given twice is passed twice. */
function k8tsProcess(
  [name, command]: readonly [name: string, command: string],
  flags: Flags,
  extraArgs: readonly Arg[] = [],
): HostProcess {
  const given = new Set(extraArgs.map(arg => arg.name))
  const usual = Object.entries(flags).filter(([flag]) => !given.has(flag))
  const extra = extraArgs.map(({ name: flag = '', value = '' }): readonly [string, string] => [flag, value])
  return {
    name,
    command: ['k8ts', command, ...[...usual, ...extra].map(([flag, value]) => `--${flag}=${value}`)],
  }
}
