/** The flags of `k8ts init` and of its phases, and the configuration that they mean. */
import { resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import {
  boolFlag,
  enumFlag,
  stringFlag,
  stringSliceFlag,
  UsageError,
  valueFlag,
  type FlagValues,
} from '#/base/flags.ts'
import { readConfiguration, type Configuration } from '#/kubeadm/configuration.ts'
import type { Platform } from '#/platform/platform.ts'
import { connectionFlags } from '../cluster-connection.ts'
import { controlPlaneFlags } from '../control-plane-host.ts'
import { kubeadmVersion, readConfigurationFile } from '../configuration-file.ts'

const podNetworks = ['vxlan', 'host-gw', 'none'] as const

export const initFlags = {
  'config': valueFlag('FILE', 'configuration file; see k8ts config print init-defaults', {
    parse: text => resolve(text),
    what: 'a file',
  }),
  'apiserver-advertise-address': valueFlag('IP', 'address by which other machines reach this API server', {
    parse: text => (parseIp(text) === undefined ? undefined : text),
    what: 'an IP address',
  }),
  'apiserver-cert-extra-sans': stringSliceFlag('NAMES', 'further names of the certificate of the API server'),
  'control-plane-endpoint': stringFlag('HOST[:PORT]', 'address of the control plane: of a load balancer'),
  'node-name': stringFlag('NAME', 'name of the node (default: the host name)'),
  'pod-network-cidr': stringFlag('CIDRS', 'addresses of pods'),
  'service-cidr': stringFlag('CIDRS', 'addresses of services (default 10.96.0.0/12)'),
  'local-etcd': boolFlag('run etcd on this host as the store, as several control planes require'),
  ...controlPlaneFlags,
  'cni': enumFlag(podNetworks, 'pod network; none leaves it to another CNI plugin (vxlan)'),
  'token': stringFlag('TOKEN', 'bootstrap token (default: a random one)'),
  'token-ttl': stringFlag('DURATION', 'time until the token expires, 0 for never (default 24h0m0s)'),
  'ignore-preflight-errors': stringSliceFlag(
    'NAMES',
    'preflight: checks whose errors are warnings; all for all',
  ),
  'skip-phases': stringSliceFlag('NAMES', 'phases that do not run'),
  'certificate-key': stringFlag(
    'KEY',
    'upload-certs: key that encrypts the certificates (default: a random one)',
  ),
  'upload-certs': boolFlag(
    'upload-certs: upload the keys of the cluster, encrypted, for further control planes',
  ),
  ...connectionFlags,
}

/** The file of `--config`, or the other flags: as in kubeadm they cannot be mixed. */
export async function initConfiguration(
  platform: Platform,
  flags: FlagValues<typeof initFlags>,
): Promise<Configuration> {
  const { config, token, 'token-ttl': ttl } = flags
  const mixed = settingFlags.find(name => flags[name] !== undefined)
  if (config !== undefined) {
    if (mixed !== undefined) throw new UsageError(`cannot use --${mixed} together with --config`)
    return readConfigurationFile(platform, config)
  }
  const {
    'apiserver-advertise-address': advertiseAddress,
    'apiserver-cert-extra-sans': certSANs,
    'control-plane-endpoint': controlPlaneEndpoint,
    'node-name': name,
    'pod-network-cidr': podSubnet,
    'service-cidr': serviceSubnet,
  } = flags
  const text = [
    {
      kind: 'ClusterConfiguration',
      controlPlaneEndpoint,
      networking: { podSubnet, serviceSubnet },
      apiServer: { certSANs },
      ...(flags['local-etcd'] && { etcd: { local: {} } }),
    },
    {
      kind: 'InitConfiguration',
      bootstrapTokens: [{ token, ttl }],
      nodeRegistration: { name },
      localAPIEndpoint: { advertiseAddress },
    },
  ].map(document => JSON.stringify({ apiVersion: 'kubeadm.k8s.io/v1beta4', ...document }))
  return readConfiguration(text.join('\n---\n'), {
    source: 'the flags',
    minor: kubeadmVersion.replace('v1.', ''),
  })
}

const settingFlags = [
  'apiserver-advertise-address',
  'apiserver-cert-extra-sans',
  'control-plane-endpoint',
  'local-etcd',
  'node-name',
  'pod-network-cidr',
  'service-cidr',
  'token',
  'token-ttl',
] as const
