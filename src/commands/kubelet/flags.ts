/**
 * The flags of kubelet. https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
 */
import type { Taint } from '#/api/generated/core/v1.ts'
import { parseIp } from '#/api/net/ip.ts'
import {
  boolFlag,
  enumFlag,
  integerFlag,
  stringFlag,
  stringSliceFlag,
  UsageError,
  type Flag,
  type FlagValues,
} from '#/base/flags.ts'
import { parseRegistryMirror } from '#/cri/registry-mirrors.ts'
import { file } from '../component-flags.ts'
import { dataFolderFlag } from '../data-folder.ts'
import { verbosityFlag } from '../verbosity.ts'

export const podNetworkFlag = enumFlag(
  ['vxlan', 'host-gw', 'none'],
  'how pods of several nodes reach each other; none: by another CNI plugin (vxlan)',
)

export const kubeletFlags = {
  'config': file('KubeletConfiguration; the flags below override it'),
  'kubeconfig': file('client of the node (DIR/kubelet.conf)'),
  'bootstrap-kubeconfig': file('gets the first certificate of the node (DIR/bootstrap-kubelet.conf)'),
  ...dataFolderFlag,
  'cert-dir': file('folder of the certificates (DIR/node/pki)'),
  'root-dir': file('folder of volumes of pods (DIR/node/kubelet)'),
  'hostname-override': stringFlag('NAME', 'name of the node (the host name)'),
  'node-ip': addresses('address of the node, or two of both families (the first of the machine)'),
  'node-labels': labels('labels of the node: KEY=VALUE,...'),
  'register-node': boolFlag('register the node with the API server (true)'),
  'register-with-taints': taints('taints of the node when it is registered: KEY=VALUE:EFFECT,...'),
  'provider-id': stringFlag('ID', 'identifier of the machine at a cloud provider'),
  'container-runtime-endpoint': stringFlag('SOCKET', 'existing container runtime (a private containerd)'),
  'registry-mirror': {
    value: 'HOST=URL',
    help: 'pull images of registry HOST from URL first; of the private containerd',
    read: (given: readonly string[]) => given.map(parseRegistryMirror),
  },
  'pod-network': podNetworkFlag,
  'cni-conf-dir': file(
    'CNI configuration of the runtime (/etc/cni/net.d; that of a private containerd with a pod network is in DIR)',
  ),
  'cgroup-root': stringFlag('PATH', 'parent of the cgroups of pods (/k8ts)'),
  'pod-manifest-path': file('folder of static pods (DIR/manifests)'),
  'cluster-dns': addresses('name servers of pods'),
  'cluster-domain': stringFlag('NAME', 'domain of the cluster (cluster.local)'),
  'resolv-conf': stringFlag(
    'FILE',
    'name servers of pods that do not use the cluster DNS (/etc/resolv.conf)',
  ),
  'max-pods': integerFlag('N', 'maximum number of pods (110)'),
  'pod-max-pids': integerFlag('N', 'maximum number of processes per pod (4096)'),
  'system-reserved': quantities('resources reserved for the system: cpu=500m,memory=1Gi'),
  'kube-reserved': quantities('further reserved resources'),
  'eviction-hard': thresholds('eviction thresholds: memory.available<100Mi,...'),
  'address': stringFlag('ADDRESS', 'address of the server (that of the node)'),
  'port': integerFlag('N', 'port of the server (10250)'),
  'healthz-bind-address': stringFlag('ADDRESS', 'address of /healthz (127.0.0.1)'),
  'healthz-port': integerFlag('N', 'port of /healthz; 0 turns it off (10248)'),
  'client-ca-file': file('authorities of clients of the server (DIR/pki/ca.crt, or those of the API server)'),
  'tls-cert-file': file('serving certificate; requested from the cluster or self-signed when absent'),
  'tls-private-key-file': file('key of --tls-cert-file'),
  'rotate-certificates': boolFlag('renew the client certificate (true)'),
  'rotate-server-certificates': boolFlag('request the serving certificate from the cluster'),
  ...verbosityFlag,
}

export type KubeletFlags = FlagValues<typeof kubeletFlags>

type Texts = Readonly<Record<string, string>>

export function addresses(help: string): Flag<readonly string[]> {
  const { read: split } = stringSliceFlag('', '')
  const read = (given: readonly string[]): readonly string[] => {
    const found = split(given)
    const wrong = found.find(each => parseIp(each) === undefined)
    if (wrong !== undefined || found.length === 0) throw new UsageError('must be IP addresses')
    return found
  }
  return { value: 'ADDRESS', help, read }
}

function labels(help: string): Flag<Texts> {
  return pairs({ value: 'LABELS', help, separator: '=', what: 'KEY=VALUE' })
}

function quantities(help: string): Flag<Texts> {
  return pairs({ value: 'QUANTITIES', help, separator: '=', what: 'RESOURCE=QUANTITY' })
}

function thresholds(help: string): Flag<Texts> {
  return pairs({ value: 'THRESHOLDS', help, separator: '<', what: 'SIGNAL<QUANTITY' })
}

interface PairsFlag {
  readonly value: string
  readonly help: string
  readonly separator: string
  readonly what: string
}

function pairs({ value, help, separator, what }: PairsFlag): Flag<Texts> {
  const { read: split } = stringSliceFlag('', '')
  const read = (given: readonly string[]): Texts =>
    Object.fromEntries(
      split(given).map(each => {
        const at = each.indexOf(separator)
        if (at <= 0) throw new UsageError(`${each} must be ${what}`)
        return [each.slice(0, at), each.slice(at + 1)]
      }),
    )
  return { value, help, read }
}

function taints(help: string): Flag<readonly Taint[]> {
  const { read: split } = stringSliceFlag('', '')
  const read = (given: readonly string[]): readonly Taint[] =>
    split(given).map(each => {
      const [, key, value, effect] =
        /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(each) ?? []
      if (key === undefined || effect === undefined)
        throw new UsageError(`${each} must be KEY=VALUE:NoSchedule, PreferNoSchedule or NoExecute`)
      return { key, effect, ...(value && { value }) }
    })
  return { value: 'TAINTS', help, read }
}
