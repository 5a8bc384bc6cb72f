/**
 * kube-apiserver's flags, for every program that runs an API server. They are only declared here;
 * `settings.ts` turns them and the files they name into server options. Every declared flag has an effect.
 * https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
 */
import { resolve } from 'node:path'
import { tryParseDurationMs } from '#/api/duration.ts'
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
import type { PortRange } from './allocation/node-ports.ts'

const authentication = {
  'client-ca-file': file('authorities whose certificates name users'),
  'token-auth-file': file('tokens and whose they are: token,user,uid,"group1,group2"'),
  'basic-auth-file': file('passwords and whose they are, as before v1.19: password,user,uid,"groups"'),
  'anonymous-auth': boolFlag('whoever shows nothing is system:anonymous (true)'),
  'enable-bootstrap-token-auth': boolFlag(
    'secrets of type bootstrap.kubernetes.io/token let nodes join (true)',
  ),
  'authentication-config': file('AuthenticationConfiguration: issuers of tokens, anonymous paths'),
  'authentication-token-webhook-config-file': file('kubeconfig of a service that knows tokens'),
  'authentication-token-webhook-version': enumFlag(['v1beta1', 'v1'], 'of TokenReview (v1beta1)'),
  'authentication-token-webhook-cache-ttl': duration('how long its answers are kept (2m)'),
}

const issuer = {
  'oidc-issuer-url': stringFlag('URL', 'who signs the tokens; https'),
  'oidc-client-id': stringFlag('ID', 'for whom they are'),
  'oidc-ca-file': file('authorities of the issuer'),
  'oidc-username-claim': stringFlag('CLAIM', 'names the user (sub)'),
  'oidc-username-prefix': stringFlag('PREFIX', 'before the name; - is none (the URL and #, none for email)'),
  'oidc-groups-claim': stringFlag('CLAIM', 'names the groups'),
  'oidc-groups-prefix': stringFlag('PREFIX', 'before each group'),
  'oidc-required-claim': stringArrayFlag('KEY=VALUE', 'must be in the token; may be said again'),
  'oidc-signing-algs': stringSliceFlag('NAME,...', 'how it may be signed (RS256)'),
}

const frontProxy = {
  'requestheader-client-ca-file': file('authorities of proxies that say in headers who somebody is'),
  'requestheader-allowed-names': stringSliceFlag(
    'NAME,...',
    'common names that a proxy may have; any when empty',
  ),
  'requestheader-username-headers': stringSliceFlag('NAME,...', 'which have the user (X-Remote-User)'),
  'requestheader-uid-headers': stringSliceFlag('NAME,...', 'which have the uid (X-Remote-Uid)'),
  'requestheader-group-headers': stringSliceFlag('NAME,...', 'which have the groups (X-Remote-Group)'),
  'requestheader-extra-headers-prefix': stringSliceFlag(
    'PREFIX,...',
    'of what else is said (X-Remote-Extra-)',
  ),
}

const serviceAccounts = {
  'service-account-issuer': stringArrayFlag('URL', 'in tokens; others are taken too when said again'),
  'service-account-signing-key-file': file('private key that signs tokens'),
  'service-account-key-file': files('keys whose tokens are taken too; may be said again'),
  'api-audiences': stringSliceFlag('NAME,...', 'for whom tokens are that are good here (the issuer)'),
  'service-account-max-token-expiration': duration('tokens do not last longer'),
  'service-account-extend-token-expiration': boolFlag("pods' tokens last a year, while they change (true)"),
}

const authorization = {
  'authorization-mode': stringSliceFlag(
    'MODE,...',
    'Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny (Node,RBAC)',
  ),
  'authorization-policy-file': file('for ABAC: a policy on each line'),
  'authorization-webhook-config-file': file('for Webhook: kubeconfig of the service that decides'),
  'authorization-webhook-version': enumFlag(['v1beta1', 'v1'], 'of SubjectAccessReview (v1beta1)'),
  'authorization-webhook-cache-authorized-ttl': duration('how long a yes is kept (5m)'),
  'authorization-webhook-cache-unauthorized-ttl': duration('how long a no is kept (30s)'),
  'authorization-config': file('AuthorizationConfiguration, in the place of the mode and its webhook'),
}

const admission = {
  'enable-admission-plugins': stringSliceFlag('NAME,...', 'on beside those that are on by themselves'),
  'disable-admission-plugins': stringSliceFlag('NAME,...', 'off although they would be on'),
  'admission-control-config-file': file('AdmissionConfiguration: how plugins are configured'),
  'default-not-ready-toleration-seconds': integerFlag('N', 'pods stay on a node that is not ready (300)'),
  'default-unreachable-toleration-seconds': integerFlag('N', 'pods stay on one that is not reached (300)'),
}

const storage = {
  'encryption-provider-config': file('EncryptionConfiguration: what is encrypted at rest, with which keys'),
  'encryption-provider-config-automatic-reload': boolFlag('read it again when it changes'),
  'event-ttl': duration('how long events are kept (1h)'),
}

const auditModes = ['batch', 'blocking', 'blocking-strict'] as const

const audit = {
  'audit-policy-file': file('Policy: what is written down of which requests'),
  'audit-log-path': valueFlag('FILE', 'where; needs a policy', {
    parse: given => (given === '-' ? undefined : resolve(given)),
    what: 'a file: standard output is for what the server says of itself',
  }),
  'audit-log-format': enumFlag(['json', 'legacy'], 'how (json)'),
  'audit-log-mode': enumFlag(auditModes, 'whether requests wait for it (blocking)'),
  'audit-log-maxsize': integerFlag('MEGABYTES', 'then a new file is begun; 0 is never (100)'),
  'audit-log-maxage': integerFlag('DAYS', 'old files are kept; 0 is for ever (366)'),
  'audit-log-maxbackup': integerFlag('N', 'so many old files are kept; 0 is all (100)'),
  'audit-webhook-config-file': file('kubeconfig of a service that takes events'),
  'audit-webhook-mode': enumFlag(auditModes, 'whether requests wait for it (batch)'),
  'audit-webhook-initial-backoff': duration('the wait after the first failure (10s)'),
  'audit-webhook-batch-buffer-size': integerFlag('N', 'events that wait; more are dropped (10000)'),
  'audit-webhook-batch-max-size': integerFlag('N', 'events sent at once (400)'),
  'audit-webhook-batch-max-wait': duration('how long a batch fills (30s)'),
  'audit-webhook-batch-throttle-enable': boolFlag('send only so many batches (true)'),
  'audit-webhook-batch-throttle-qps': integerFlag('N', 'in a second (10)'),
  'audit-webhook-batch-throttle-burst': integerFlag('N', 'at once, if there were none before (15)'),
}

const requests = {
  'enable-priority-and-fairness': boolFlag('flow schemas and priority levels decide who waits (true)'),
  'max-requests-inflight': integerFlag('N', 'at once, of those that read (400)'),
  'max-mutating-requests-inflight': integerFlag('N', 'at once, of those that write (200)'),
  'request-timeout': duration('then a request is answered, done or not (1m)'),
}

const services = {
  'service-cluster-ip-range': stringFlag('CIDR', 'addresses of services (10.96.0.0/16)'),
  'service-node-port-range': valueFlag('FROM-TO', 'ports of nodes for services (30000-32767)', {
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
  ...requests,
  ...services,
}

export type ApiServerFlags = FlagValues<typeof apiServerFlags>

const groups: readonly (readonly [string, Flags])[] = [
  ['Who somebody is', authentication],
  ['Tokens of an OpenID Connect issuer', issuer],
  ['Proxies that speak for others', frontProxy],
  ['Tokens of service accounts', serviceAccounts],
  ['Who may do what', authorization],
  ['What may be stored', admission],
  ['How it is stored', storage],
  ['What is written down of requests', audit],
  ['How many requests at once', requests],
  ['Addresses of services', services],
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
