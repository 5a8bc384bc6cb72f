/**
 * kube-apiserver's flags, for every program that runs an API server. They are only declared here;
 * `settings.ts` turns them and the files they name into server options. Every declared flag has an effect.
 * https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
 */
import { resolve } from 'node:path'
import { parseIp } from '#/api/net/ip.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { tryParseQuantity } from '#/api/text/quantity.ts'
import {
  enumFlag,
  describeFlags,
  stringSliceFlag,
  valueFlag,
  stringFlag,
  stringArrayFlag,
  boolFlag,
  integerFlag,
  type Flag,
  type Flags,
  type FlagValues,
} from '#/base/flags.ts'
import { featureGatesFlag, runtimeConfigFlag } from './api-enablement.ts'
import type { PortRange } from './allocation/node-ports.ts'

const authentication = {
  'client-ca-file': file('CA certificates for client certificate authentication'),
  'token-auth-file': file('static token file: token,user,uid,"group1,group2"'),
  'basic-auth-file': file('basic auth file (removed in Kubernetes v1.19): password,user,uid,"groups"'),
  'anonymous-auth': boolFlag('allow anonymous requests (true)'),
  'enable-bootstrap-token-auth': boolFlag('allow bootstrap tokens for TLS bootstrapping (true)'),
  'authentication-config': file('AuthenticationConfiguration file: JWT issuers, anonymous access'),
  'authentication-token-webhook-config-file': file('kubeconfig of the token authentication webhook'),
  'authentication-token-webhook-version': enumFlag(['v1beta1', 'v1'], 'API version of TokenReview (v1beta1)'),
  'authentication-token-webhook-cache-ttl': duration('cache TTL of webhook responses (2m)'),
}

const issuer = {
  'oidc-issuer-url': stringFlag('URL', 'issuer URL of OIDC tokens; https only'),
  'oidc-client-id': stringFlag('ID', 'client ID (audience) of OIDC tokens'),
  'oidc-ca-file': file('CA certificates of the issuer'),
  'oidc-username-claim': stringFlag('CLAIM', 'claim used as user name (sub)'),
  'oidc-username-prefix': stringFlag('PREFIX', 'user name prefix; - disables it (issuer URL and #)'),
  'oidc-groups-claim': stringFlag('CLAIM', 'claim used as groups'),
  'oidc-groups-prefix': stringFlag('PREFIX', 'group prefix'),
  'oidc-required-claim': stringArrayFlag('KEY=VALUE', 'required claim; repeatable'),
  'oidc-signing-algs': stringSliceFlag('NAME,...', 'accepted signing algorithms (RS256)'),
}

const frontProxy = {
  'requestheader-client-ca-file': file('CA certificates of authenticating front proxies'),
  'requestheader-allowed-names': stringSliceFlag(
    'NAME,...',
    'allowed common names of proxy certificates; any if empty',
  ),
  'requestheader-username-headers': stringSliceFlag('NAME,...', 'headers with the user name (X-Remote-User)'),
  'requestheader-uid-headers': stringSliceFlag('NAME,...', 'headers with the uid (X-Remote-Uid)'),
  'requestheader-group-headers': stringSliceFlag('NAME,...', 'headers with the groups (X-Remote-Group)'),
  'requestheader-extra-headers-prefix': stringSliceFlag(
    'PREFIX,...',
    'prefixes of extra headers (X-Remote-Extra-)',
  ),
  'proxy-client-cert-file': file('client certificate of this API server as front proxy of extension servers'),
  'proxy-client-key-file': file('private key of the front proxy certificate'),
}

const serviceAccounts = {
  'service-account-issuer': stringArrayFlag(
    'URL',
    'issuer of service account tokens; further ones are accepted',
  ),
  'service-account-signing-key-file': file('private key that signs service account tokens'),
  'service-account-key-file': files('additional keys to verify service account tokens; repeatable'),
  'api-audiences': stringSliceFlag('NAME,...', 'audiences of this API server (issuer)'),
  'service-account-max-token-expiration': duration('maximum token lifetime'),
  'service-account-extend-token-expiration': boolFlag(
    'extend the lifetime of projected tokens to one year (true)',
  ),
}

const authorization = {
  'authorization-mode': stringSliceFlag(
    'MODE,...',
    'Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny (Node,RBAC)',
  ),
  'authorization-policy-file': file('ABAC policy file, one policy per line'),
  'authorization-webhook-config-file': file('kubeconfig of the authorization webhook'),
  'authorization-webhook-version': enumFlag(
    ['v1beta1', 'v1'],
    'API version of SubjectAccessReview (v1beta1)',
  ),
  'authorization-webhook-cache-authorized-ttl': duration('cache TTL of allowed responses (5m)'),
  'authorization-webhook-cache-unauthorized-ttl': duration('cache TTL of denied responses (30s)'),
  'authorization-config': file('AuthorizationConfiguration file; replaces mode and webhook flags'),
}

const admission = {
  'enable-admission-plugins': stringSliceFlag('NAME,...', 'plugins to enable in addition to the defaults'),
  'disable-admission-plugins': stringSliceFlag('NAME,...', 'default plugins to disable'),
  'admission-control-config-file': file('AdmissionConfiguration file'),
  'default-not-ready-toleration-seconds': integerFlag(
    'N',
    'default tolerationSeconds for not-ready nodes (300)',
  ),
  'default-unreachable-toleration-seconds': integerFlag(
    'N',
    'default tolerationSeconds for unreachable nodes (300)',
  ),
}

const storage = {
  'encryption-provider-config': file('EncryptionConfiguration file'),
  'encryption-provider-config-automatic-reload': boolFlag('reload the EncryptionConfiguration on change'),
  'event-ttl': duration('TTL of Events (1h)'),
  'etcd-compaction-interval': duration('time until old revisions of the store are compacted (5m); 0 never'),
  'history-max-age': duration('time for which versions of objects are kept (24h); 0 turns the history off'),
  'history-max-size': valueFlag('SIZE', 'maximum size of the history (256Mi)', {
    parse: parseSize,
    what: 'a size such as 256Mi',
  }),
  'history-dir': valueFlag('DIR', 'folder of the history (DIR/history; with a memory store in memory)', {
    parse: given => (given === '' ? undefined : resolve(given)),
    what: 'a folder',
  }),
}

const auditModes = ['batch', 'blocking', 'blocking-strict'] as const

const audit = {
  'audit-policy-file': file('audit policy file'),
  'audit-log-path': valueFlag('FILE', 'audit log file; requires a policy', {
    parse: given => (given === '-' ? undefined : resolve(given)),
    what: 'a file; - is not supported because stdout is used for the server log',
  }),
  'audit-log-format': enumFlag(['json', 'legacy'], 'format (json)'),
  'audit-log-mode': enumFlag(auditModes, 'batch, blocking or blocking-strict (blocking)'),
  'audit-log-maxsize': integerFlag('MEGABYTES', 'maximum size before rotation; 0 disables it (100)'),
  'audit-log-maxage': integerFlag('DAYS', 'maximum age of rotated files; 0 means unlimited (366)'),
  'audit-log-maxbackup': integerFlag('N', 'maximum number of rotated files; 0 means unlimited (100)'),
  'audit-webhook-config-file': file('kubeconfig of the audit webhook'),
  'audit-webhook-mode': enumFlag(auditModes, 'batch, blocking or blocking-strict (batch)'),
  'audit-webhook-initial-backoff': duration('initial retry backoff (10s)'),
  'audit-webhook-batch-buffer-size': integerFlag('N', 'queue size; further events are dropped (10000)'),
  'audit-webhook-batch-max-size': integerFlag('N', 'maximum events per batch (400)'),
  'audit-webhook-batch-max-wait': duration('maximum wait for a batch (30s)'),
  'audit-webhook-batch-throttle-enable': boolFlag('enable batch throttling (true)'),
  'audit-webhook-batch-throttle-qps': integerFlag('N', 'average batches per second (10)'),
  'audit-webhook-batch-throttle-burst': integerFlag('N', 'burst of batches (15)'),
}

const enablement = {
  'runtime-config': runtimeConfigFlag,
  'feature-gates': featureGatesFlag,
}

const requests = {
  'enable-priority-and-fairness': boolFlag('enable API Priority and Fairness (true)'),
  'max-requests-inflight': integerFlag('N', 'maximum concurrent read-only requests (400)'),
  'max-mutating-requests-inflight': integerFlag('N', 'maximum concurrent mutating requests (200)'),
  'request-timeout': duration('timeout of requests that are not long-running (1m)'),
}

const debugging = {
  'profiling': boolFlag('serve profiles at /debug/pprof/ (true)'),
  'disabled-metrics': stringSliceFlag('NAME,...', 'metrics that are not served'),
  'show-hidden-metrics-for-version': enumFlag(['1.35'], 'serve metrics that are hidden since this version'),
}

const kubelets = {
  'kubelet-certificate-authority': file("CA certificates of kubelets' serving certificates"),
  'kubelet-client-certificate': file('client certificate for kubelets'),
  'kubelet-client-key': file('private key of the client certificate for kubelets'),
}

const services = {
  'advertise-address': valueFlag('ADDRESS', 'endpoint of the kubernetes Service (the address to listen on)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an address',
  }),
  'service-cluster-ip-range': stringFlag('CIDR', 'CIDR of cluster IPs (10.96.0.0/16)'),
  'service-node-port-range': valueFlag('FROM-TO', 'node port range (30000-32767)', {
    parse: parsePortRange,
    what: 'a range of ports',
  }),
}

export const apiServerFlags = {
  ...authentication,
  ...issuer,
  ...frontProxy,
  ...serviceAccounts,
  ...authorization,
  ...admission,
  ...storage,
  ...audit,
  ...enablement,
  ...requests,
  ...debugging,
  ...kubelets,
  ...services,
}

export type ApiServerFlags = FlagValues<typeof apiServerFlags>

const groups: readonly (readonly [string, Flags])[] = [
  ['Authentication', authentication],
  ['OpenID Connect', issuer],
  ['Front proxy', frontProxy],
  ['Service accounts', serviceAccounts],
  ['Authorization', authorization],
  ['Admission', admission],
  ['Storage', storage],
  ['Auditing', audit],
  ['API versions and features', enablement],
  ['Request limits', requests],
  ['Debugging', debugging],
  ['Kubelets', kubelets],
  ['Services', services],
]

/** Help text, by flag group. */
export function describeApiServerFlags(): string {
  return groups.map(([title, flags]) => `\n${title}:\n${describeFlags(flags)}`).join('')
}

/** Parses `30000-32767`, or `30000+100` for base and size. */
function parsePortRange(given: string): PortRange | undefined {
  const [, first, sign, second] = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(given) ?? []
  if (first === undefined) return undefined
  const from = Number(first)
  const to = sign === undefined ? from : sign === '-' ? Number(second) : from + Number(second)
  return from >= 1 && from <= to && to < 2 ** 16 ? { from, to } : undefined
}

/** In bytes. */
function parseSize(given: string): number | undefined {
  const quantity = tryParseQuantity(given)
  if (quantity === undefined) return undefined
  const sizeBytes = Number(quantity.nanos / 1_000_000_000n)
  return sizeBytes > 0 && Number.isSafeInteger(sizeBytes) ? sizeBytes : undefined
}

/** Resolved against the working directory; empty means none. */
function file(help: string): Flag<string> {
  const parse = (given: string): string => (given === '' ? '' : resolve(given))
  return valueFlag('FILE', help, { parse, what: 'a file' })
}

function files(help: string): Flag<readonly string[]> {
  return { value: 'FILE', help, read: given => given.map(each => resolve(each)) }
}

/** In milliseconds. */
function duration(help: string): Flag<number> {
  const parse = (given: string): number | undefined => {
    const milliseconds = tryParseDurationMs(given)
    return milliseconds === undefined || milliseconds < 0 ? undefined : milliseconds
  }
  return valueFlag('DURATION', help, { parse, what: 'a duration such as 90s or 1h30m' })
}
