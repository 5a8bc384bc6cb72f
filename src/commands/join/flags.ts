/** The flags of `k8ts join` and of its phases, and the configuration that they mean. */
import { resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import {
  boolFlag,
  stringArrayFlag,
  stringFlag,
  stringSliceFlag,
  UsageError,
  valueFlag,
  type FlagValues,
} from '#/base/flags.ts'
import { readConfiguration, type JoinConfiguration } from '#/kubeadm/configuration.ts'
import type { Platform } from '#/platform/platform.ts'
import { kubeadmVersion, readConfigurationFile } from '../configuration-file.ts'
import { controlPlaneFlags } from '../control-plane-host.ts'
import { dataFolderFlag } from '../data-folder.ts'

const path = { parse: (text: string) => resolve(text), what: 'a file' }

export const joinFlags = {
  'config': valueFlag('FILE', 'configuration file; see k8ts config print join-defaults', path),
  'token': stringFlag('TOKEN', 'bootstrap token for discovery and for the certificate of the kubelet'),
  'discovery-token': stringFlag('TOKEN', 'token for discovery only'),
  'tls-bootstrap-token': stringFlag('TOKEN', 'token for the certificate of the kubelet only'),
  'discovery-token-ca-cert-hash': stringArrayFlag(
    'sha256:HEX',
    'hash of the public key of the CA; may be repeated',
  ),
  'discovery-token-unsafe-skip-ca-verification': boolFlag('join without a hash of the CA'),
  'discovery-file': valueFlag('FILE', 'kubeconfig with the cluster, instead of discovery by token', path),
  'control-plane': boolFlag('join as a control plane'),
  ...controlPlaneFlags,
  'ignore-preflight-errors': stringSliceFlag(
    'NAMES',
    'preflight: checks whose errors are warnings; all for all',
  ),
  'apiserver-advertise-address': valueFlag('IP', 'control plane: address of this API server', {
    parse: text => (parseIp(text) === undefined ? undefined : text),
    what: 'an IP address',
  }),
  'node-name': stringFlag('NAME', 'name of the node (default: the host name)'),
  'certificate-key': stringFlag('KEY', 'key that decrypts the certificates of the control plane'),
  ...dataFolderFlag,
}

export type JoinFlags = FlagValues<typeof joinFlags>

/** The file of `--config`, or the other flags: as in kubeadm they cannot be mixed. */
export async function joinConfiguration(
  platform: Platform,
  flags: JoinFlags,
  endpoint: string | undefined,
): Promise<JoinConfiguration> {
  const { config, token, 'discovery-file': file, 'certificate-key': certificateKey } = flags
  if (config !== undefined) {
    if (token !== undefined || file !== undefined || endpoint !== undefined)
      throw new UsageError('cannot use a token, a discovery file or an endpoint together with --config')
    const { join } = await readConfigurationFile(platform, config)
    if (join === undefined) throw new UsageError(`${config} has no JoinConfiguration`)
    return join
  }
  const bootstrapToken = {
    apiServerEndpoint: endpoint,
    token: flags['discovery-token'] ?? token,
    caCertHashes: flags['discovery-token-ca-cert-hash'],
    unsafeSkipCAVerification: flags['discovery-token-unsafe-skip-ca-verification'],
  }
  const discovery = {
    ...(file === undefined ? { bootstrapToken } : { file: { kubeConfigPath: file } }),
    tlsBootstrapToken: flags['tls-bootstrap-token'] ?? token,
  }
  const ofControlPlane = [
    'control-plane',
    'control-plane-as',
    'certificate-key',
    'apiserver-advertise-address',
  ] as const
  const hasControlPlane = ofControlPlane.some(name => flags[name] !== undefined)
  const localAPIEndpoint = { advertiseAddress: flags['apiserver-advertise-address'] }
  const controlPlane = hasControlPlane ? { certificateKey, localAPIEndpoint } : undefined
  const nodeRegistration = { name: flags['node-name'] }
  const document = {
    apiVersion: 'kubeadm.k8s.io/v1beta4',
    kind: 'JoinConfiguration',
    nodeRegistration,
    discovery,
    controlPlane,
  }
  const source = { source: 'the flags', minor: kubeadmVersion.replace('v1.', '') }
  return readConfiguration(JSON.stringify(document), source).join!
}
