/** Validation of the configuration file: one line for each fault, with the path of the field. */
import { parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { isTime } from '#/api/text/time.ts'
import { parseBootstrapToken, validateBootstrapToken } from '../bootstrap-token.ts'
import { validateCaCertHash } from '../ca-cert-hash.ts'
import { validateCertificateKey } from '../certificate-key.ts'
import type {
  ApiEndpoint,
  ClusterConfiguration,
  InitConfiguration,
  JoinConfiguration,
  NodeRegistration,
} from './types.ts'

/** The only encryption algorithm of certificates made here. */
const encryptionAlgorithm = 'ECDSA-P256'

export function validateClusterConfiguration(
  cluster: ClusterConfiguration,
  build: { readonly minor: string },
): string[] {
  const { networking = {}, etcd = {}, kubernetesVersion, controlPlaneEndpoint, apiServer } = cluster
  const faults = new Faults()
  for (const field of ['serviceSubnet', 'podSubnet'] as const) {
    const wrong = (networking[field] ?? '')
      .split(',')
      .find(each => each !== '' && parseCidr(each.trim()) === undefined)
    if (wrong !== undefined) faults.add(`networking.${field}`, wrong, 'must be a CIDR, or two for dual stack')
  }
  if (networking.dnsDomain !== undefined && networking.dnsDomain !== 'cluster.local')
    faults.add('networking.dnsDomain', networking.dnsDomain, 'only cluster.local is supported')
  if (kubernetesVersion !== undefined && !isVersionOf(kubernetesVersion, build.minor))
    faults.add('kubernetesVersion', kubernetesVersion, `this k8ts is Kubernetes v1.${build.minor}`)
  if (controlPlaneEndpoint !== undefined && splitEndpoint(controlPlaneEndpoint) === undefined)
    faults.add('controlPlaneEndpoint', controlPlaneEndpoint, 'must be HOST or HOST:PORT')
  for (const [index, name] of (apiServer?.certSANs ?? []).entries())
    if (parseIp(name) === undefined && !isDnsName(name.replace(/^\*\./, '')))
      faults.add(`apiServer.certSANs[${index}]`, name, 'must be an IP address or a DNS name')
  const { encryptionAlgorithm: algorithm = encryptionAlgorithm } = cluster
  if (algorithm !== encryptionAlgorithm)
    faults.add('encryptionAlgorithm', algorithm, `only ${encryptionAlgorithm} is supported`)
  for (const field of ['certificateValidityPeriod', 'caCertificateValidityPeriod'] as const)
    faults.duration(field, cluster[field])
  if (etcd.local && etcd.external) faults.add('etcd', '', 'local and external are mutually exclusive')
  if (etcd.external) validateExternalEtcd(faults, etcd.external.endpoints ?? [])
  return faults.lines
}

function validateExternalEtcd(faults: Faults, endpoints: readonly string[]): void {
  if (endpoints.length === 0) faults.add('etcd.external.endpoints', '', 'at least one endpoint is required')
  for (const [index, endpoint] of endpoints.entries())
    if (!/^https?:\/\/[^/]+$/.test(endpoint))
      faults.add(`etcd.external.endpoints[${index}]`, endpoint, 'must be a URL such as https://10.0.0.1:2379')
}

export function validateInitConfiguration(init: InitConfiguration): string[] {
  const faults = new Faults()
  for (const [index, entry] of (init.bootstrapTokens ?? []).entries()) {
    const path = `bootstrapTokens[${index}]`
    if (entry.token !== undefined && parseBootstrapToken(entry.token) === undefined)
      faults.add(`${path}.token`, '', 'the form is abcdef.0123456789abcdef')
    if (entry.ttl !== undefined && entry.expires !== undefined)
      faults.add(path, '', 'ttl and expires are mutually exclusive')
    // Zero is for a token that does not expire.
    if (tryParseDurationMs(entry.ttl ?? '') !== 0) faults.duration(`${path}.ttl`, entry.ttl)
    if (entry.expires !== undefined && !isTime(entry.expires))
      faults.add(`${path}.expires`, entry.expires, 'must be a time such as 2026-01-31T12:00:00Z')
    const { usages = ['authentication'], groups = [] } = entry
    const problem = validateBootstrapToken({ usages, groups })
    if (problem !== undefined) faults.add(path, '', problem)
  }
  validateNodeRegistration(faults, init.nodeRegistration)
  validateApiEndpoint(faults, 'localAPIEndpoint', init.localAPIEndpoint)
  validateKey(faults, 'certificateKey', init.certificateKey)
  validateTimeouts(faults, init.timeouts)
  return faults.lines
}

export function validateJoinConfiguration(join: JoinConfiguration): string[] {
  const faults = new Faults()
  const { discovery = {}, controlPlane } = join
  const { bootstrapToken, file, tlsBootstrapToken } = discovery
  if ((bootstrapToken === undefined) === (file === undefined))
    faults.add('discovery', '', 'exactly one of bootstrapToken and file is required')
  if (bootstrapToken) {
    const { token = '', apiServerEndpoint = '', caCertHashes = [], unsafeSkipCAVerification } = bootstrapToken
    const path = 'discovery.bootstrapToken'
    if (parseBootstrapToken(token) === undefined)
      faults.add(`${path}.token`, '', 'the form is abcdef.0123456789abcdef')
    if (splitEndpoint(apiServerEndpoint)?.port === undefined)
      faults.add(`${path}.apiServerEndpoint`, apiServerEndpoint, 'must be HOST:PORT')
    const hashFaults = caCertHashes.map(validateCaCertHash)
    for (const [index, fault] of hashFaults.entries())
      if (fault !== undefined) faults.add(`${path}.caCertHashes[${index}]`, '', fault)
    if (caCertHashes.length === 0 && unsafeSkipCAVerification !== true) {
      const way = 'set one, or unsafeSkipCAVerification: true'
      faults.add(
        `${path}.caCertHashes`,
        '',
        `using token-based discovery without a CA hash can be unsafe: ${way}`,
      )
    }
  }
  if (file && !file.kubeConfigPath) faults.add('discovery.file.kubeConfigPath', '', 'is required')
  if (tlsBootstrapToken !== undefined && parseBootstrapToken(tlsBootstrapToken) === undefined)
    faults.add('discovery.tlsBootstrapToken', '', 'the form is abcdef.0123456789abcdef')
  validateNodeRegistration(faults, join.nodeRegistration)
  validateApiEndpoint(faults, 'controlPlane.localAPIEndpoint', controlPlane?.localAPIEndpoint)
  validateKey(faults, 'controlPlane.certificateKey', controlPlane?.certificateKey)
  validateTimeouts(faults, join.timeouts)
  return faults.lines
}

function validateNodeRegistration(faults: Faults, { name, taints = [] }: NodeRegistration = {}): void {
  if (name !== undefined && !isDnsName(name))
    faults.add('nodeRegistration.name', name, 'must be a DNS name in lower case')
  for (const [index, { effect }] of taints.entries())
    if (!['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect))
      faults.add(
        `nodeRegistration.taints[${index}].effect`,
        effect,
        'must be NoSchedule, PreferNoSchedule or NoExecute',
      )
}

function validateApiEndpoint(
  faults: Faults,
  path: string,
  { advertiseAddress, bindPort }: ApiEndpoint = {},
): void {
  if (advertiseAddress !== undefined && parseIp(advertiseAddress) === undefined)
    faults.add(`${path}.advertiseAddress`, advertiseAddress, 'must be an IP address')
  if (bindPort !== undefined && (bindPort < 1 || bindPort > 65_535))
    faults.add(`${path}.bindPort`, String(bindPort), 'must be between 1 and 65535')
}

function validateKey(faults: Faults, path: string, key: string | undefined): void {
  const problem = key === undefined ? undefined : validateCertificateKey(key)
  if (problem !== undefined) faults.add(path, '', problem)
}

function validateTimeouts(faults: Faults, timeouts: InitConfiguration['timeouts'] = {}): void {
  for (const [name, text] of Object.entries(timeouts)) faults.duration(`timeouts.${name}`, text)
}

class Faults {
  readonly lines: string[] = []

  add(path: string, value: string, reason: string): void {
    this.lines.push(`${path}: ${value === '' ? '' : `invalid value ${JSON.stringify(value)}: `}${reason}`)
  }

  duration(path: string, text: string | undefined): void {
    if (text === undefined) return
    const ms = tryParseDurationMs(text)
    if (ms === undefined || ms <= 0) this.add(path, text, 'must be a positive duration such as 24h')
  }
}

/** `host`, `host:port`, `[v6]:port`; undefined when it is none of them. */
export function splitEndpoint(
  text: string,
): { readonly host: string; readonly port: number | undefined } | undefined {
  if (parseIp(text) !== undefined) return { host: text, port: undefined }
  const [, bracketed, plain = '', digits] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const isHost =
    bracketed === undefined ? parseIp(host) !== undefined || isDnsName(host) : parseIp(host)?.family === 6
  return isHost ? { host, port } : undefined
}

function isDnsName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)
}

/** `stable` and `stable-1.36` are versions of kubeadm's release channels. */
function isVersionOf(text: string, minor: string): boolean {
  return /^stable(-1)?$/.test(text) || new RegExp(`^(v|stable-)?1\\.${minor}(\\.\\d+)?([-+].*)?$`).test(text)
}
