/**
 * API server options from flags and the files they name. Everything is read and validated before anything
 * starts, and errors name the flag. Values that flags do not set are left out; the cluster setup provides
 * them.
 */
import { createPrivateKey } from 'node:crypto'
import { parseCidr } from '#/api/net/cidr.ts'
import { UsageError } from '#/base/flags.ts'
import type { FeatureGate } from './api-enablement.ts'
import type { Platform } from '#/platform/platform.ts'
import type { PortRange } from './allocation/node-ports.ts'
import { readAdmission, type AdmissionPluginFactory } from './admission.ts'
import { ConfigurationError, type TolerationSeconds } from './admission/plugin-context.ts'
import type { ProxyClientCertificate } from './aggregator.ts'
import type { AuditSettings } from './audit.ts'
import { readCertificates } from './authn/certificate-chain.ts'
import type { FrontProxyOptions } from './authn/front-proxy.ts'
import type { AuthorizerSettings } from './authz.ts'
import { parseEncryptionConfiguration } from './encryption.ts'
import type { ApiServerFlags } from './flags.ts'
import type { ApiServerReloads } from './api-server-options.ts'
import type { RequestLimits } from './flow-control.ts'
import { readAudit } from './settings/audit.ts'
import {
  readAuthentication,
  readAuthenticationReload,
  type PartialAuthenticationSettings,
} from './settings/authentication.ts'
import { readAuthorization, readAuthorizationReload } from './settings/authorization.ts'
import { readFlagFile } from './settings/flag-files.ts'

export interface ApiServerSettings {
  readonly authentication: PartialAuthenticationSettings
  readonly authorizers: readonly AuthorizerSettings[]
  readonly admission: AdmissionPluginFactory
  readonly tolerationSeconds: TolerationSeconds
  /** Auditing is disabled when absent. */
  readonly audit?: AuditSettings
  /** When absent, the cluster generates its own encryption key. */
  readonly encryption?: EncryptionSettings
  readonly limits: RequestLimits
  readonly requestTimeoutMs: number
  readonly eventTtlMs?: number
  readonly compactionIntervalMs: number
  /** Absent if no history is kept. */
  readonly historyLimits?: HistoryLimits
  readonly advertiseAddress?: string
  readonly serviceCidrs?: readonly string[]
  readonly enabledVersions?: readonly string[]
  readonly featureGates?: readonly FeatureGate[]
  readonly nodePorts?: PortRange
  /** When absent, the cluster's own front proxy certificate. */
  readonly proxyClient?: ProxyClientCertificate
  readonly kubeletTls: KubeletTlsSettings
  readonly reloads: ApiServerReloads
}

export interface HistoryLimits {
  readonly maxAgeMs: number
  readonly maxBytes: number
  /** When absent, that of the cluster. */
  readonly folder?: string
}

/** When absent, the cluster's own. */
export interface KubeletTlsSettings {
  /** PEM of the CAs that have signed the serving certificates of all kubelets. */
  readonly authorities?: string
  readonly client?: ProxyClientCertificate
}

export interface EncryptionSettings {
  /** Content of the configuration file. */
  readonly configuration: string
  readonly path: string
  /** True if the file is reloaded when it changes. */
  readonly reloads: boolean
}

export interface ReadSettingsOptions {
  readonly platform: Platform
  /** Defaults of the cluster for unset flags. */
  readonly defaults: {
    readonly serviceAccountIssuer: string
    readonly enabledPlugins: readonly string[]
  }
}

/** Rejects with UsageError. */
export async function readApiServerSettings(
  flags: ApiServerFlags,
  options: ReadSettingsOptions,
): Promise<ApiServerSettings> {
  const { platform, defaults } = options
  const audit = await readAudit(flags, platform)
  const encryption = await readEncryption(flags, platform)
  const serviceCidrs = cidrsOf(flags)
  const proxyClient = await readKeyPair(flags, platform, ['proxy-client-cert-file', 'proxy-client-key-file'])
  const ownIssuer = defaults.serviceAccountIssuer
  // Before the settings, so that a change in between is noticed.
  const issuers = await readAuthenticationReload(flags, platform, ownIssuer)
  const authentication = await readAuthentication(flags, platform, ownIssuer)
  const authorizers = await readAuthorization(flags, platform)
  const authorization = await readAuthorizationReload(flags, platform, authorizers)
  const historyLimits = historyLimitsOf(flags)
  return {
    authentication: withoutUnlimitedAnonymous(authentication, authorizers, platform),
    authorizers,
    admission: await readPlugins(flags, options),
    tolerationSeconds: {
      notReady: flags['default-not-ready-toleration-seconds'] ?? 300,
      unreachable: flags['default-unreachable-toleration-seconds'] ?? 300,
    },
    ...(audit && { audit }),
    ...(encryption && { encryption }),
    limits: limitsOf(flags),
    requestTimeoutMs: timeoutOf(flags),
    ...(flags['event-ttl'] && { eventTtlMs: flags['event-ttl'] }),
    compactionIntervalMs: flags['etcd-compaction-interval'] ?? 300_000,
    ...(historyLimits && { historyLimits }),
    ...(flags['advertise-address'] && { advertiseAddress: flags['advertise-address'] }),
    ...(serviceCidrs && { serviceCidrs }),
    ...(flags['runtime-config'] && { enabledVersions: flags['runtime-config'] }),
    ...(flags['feature-gates'] && { featureGates: flags['feature-gates'] }),
    ...(flags['service-node-port-range'] && { nodePorts: flags['service-node-port-range'] }),
    ...(proxyClient && { proxyClient }),
    kubeletTls: await readKubeletTls(flags, platform),
    reloads: { ...(issuers && { issuers }), ...(authorization && { authorizers: authorization }) },
  }
}

/** With AlwaysAllow, anonymous requests could do everything. */
function withoutUnlimitedAnonymous(
  authentication: PartialAuthenticationSettings,
  authorizers: readonly AuthorizerSettings[],
  { log }: Platform,
): PartialAuthenticationSettings {
  const isUnlimited = authorizers.some(({ mode }) => mode === 'AlwaysAllow')
  if (!isUnlimited || authentication.anonymous?.enabled === false) return authentication
  log.warn(
    'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. ' +
      'You should use a different authorizer',
  )
  return { ...authentication, anonymous: { enabled: false } }
}

/**
 * If the front proxy CA is also a client CA, --requestheader-allowed-names is required; otherwise every user
 * could impersonate any other. Throws UsageError.
 */
export function requireAllowedNamesForSharedCa(clients: string, proxies: Partial<FrontProxyOptions>): void {
  const { authorities, allowedNames = [] } = proxies
  if (authorities === undefined || allowedNames.length > 0) return
  const ofClients = new Set(readCertificates(clients).map(({ fingerprint256 }) => fingerprint256))
  if (!readCertificates(authorities).some(({ fingerprint256 }) => ofClients.has(fingerprint256))) return
  throw new UsageError(
    '--requestheader-client-ca-file shares a CA with --client-ca-file: --requestheader-allowed-names is ' +
      'required, otherwise any client certificate could impersonate any user',
  )
}

async function readKubeletTls(flags: ApiServerFlags, platform: Platform): Promise<KubeletTlsSettings> {
  const flag = 'kubelet-certificate-authority'
  const authorities = await readFlagFile(platform, { flag, path: flags[flag] }, text => {
    requireCertificate(text)
    return text
  })
  const client = await readKeyPair(flags, platform, ['kubelet-client-certificate', 'kubelet-client-key'])
  return { ...(authorities && { authorities }), ...(client && { client }) }
}

type FlagPair =
  | readonly ['proxy-client-cert-file', 'proxy-client-key-file']
  | readonly ['kubelet-client-certificate', 'kubelet-client-key']

async function readKeyPair(
  flags: ApiServerFlags,
  platform: Platform,
  [certFlag, keyFlag]: FlagPair,
): Promise<ProxyClientCertificate | undefined> {
  const read = (flag: FlagPair[number], check: (text: string) => unknown) => {
    return readFlagFile(platform, { flag, path: flags[flag] }, text => {
      check(text)
      return text
    })
  }
  const cert = await read(certFlag, requireCertificate)
  const key = await read(keyFlag, createPrivateKey)
  if (cert === undefined && key === undefined) return undefined
  if (cert !== undefined && key !== undefined) return { cert, key }
  throw new UsageError(`--${certFlag} and --${keyFlag} must be specified together`)
}

function requireCertificate(text: string): void {
  if (readCertificates(text).length === 0) throw new Error('contains no PEM certificate')
}

/** Flags enable and disable plugins relative to the cluster's defaults. */
async function readPlugins(
  flags: ApiServerFlags,
  options: ReadSettingsOptions,
): Promise<AdmissionPluginFactory> {
  const { enabledPlugins } = options.defaults
  const { 'enable-admission-plugins': enable = [], 'disable-admission-plugins': disable = [] } = flags
  const configurationFile = flags['admission-control-config-file']
  try {
    return await readAdmission(options.platform.files, {
      enable: [...enable, ...enabledPlugins.filter(name => !disable.includes(name))],
      disable,
      ...(configurationFile && { configurationFile }),
    })
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new UsageError(error.message, { cause: error })
  }
}

async function readEncryption(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<EncryptionSettings | undefined> {
  const path = flags['encryption-provider-config']
  const reloads = flags['encryption-provider-config-automatic-reload'] ?? false
  if (!path) {
    if (!reloads) return undefined
    const needed = '--encryption-provider-config'
    throw new UsageError(`--encryption-provider-config-automatic-reload requires ${needed}`)
  }
  const configuration = await readFlagFile(platform, { flag: 'encryption-provider-config', path }, text => {
    parseEncryptionConfiguration(text)
    return text
  })
  return configuration === undefined ? undefined : { configuration, path, reloads }
}

function limitsOf(flags: ApiServerFlags): RequestLimits {
  const isFair = flags['enable-priority-and-fairness'] ?? true
  const readOnly = flags['max-requests-inflight'] ?? 400
  const mutating = flags['max-mutating-requests-inflight'] ?? 200
  if (isFair && readOnly + mutating === 0) {
    throw new UsageError(
      '--max-requests-inflight and --max-mutating-requests-inflight cannot both be 0 with priority and fairness',
    )
  }
  return { fairness: isFair ? 'priority and fairness' : 'max in flight', readOnly, mutating }
}

function historyLimitsOf(flags: ApiServerFlags): HistoryLimits | undefined {
  const maxAgeMs = flags['history-max-age'] ?? 86_400_000
  const { 'history-max-size': maxBytes = 256 * 1024 ** 2, 'history-dir': folder } = flags
  return maxAgeMs === 0 ? undefined : { maxAgeMs, maxBytes, ...(folder !== undefined && { folder }) }
}

function timeoutOf(flags: ApiServerFlags): number {
  const timeoutMs = flags['request-timeout'] ?? 60_000
  if (timeoutMs === 0) throw new UsageError('--request-timeout must be longer than 0s')
  return timeoutMs
}

/** One CIDR, or one per IP family. */
function cidrsOf(flags: ApiServerFlags): readonly string[] | undefined {
  const given = flags['service-cluster-ip-range']
  if (!given) return undefined
  const cidrs = given.split(',').map(each => each.trim())
  const families = cidrs.map(each => parseCidr(each)?.family)
  if (families.includes(undefined) || families.length > 2 || new Set(families).size < families.length) {
    throw new UsageError(`--service-cluster-ip-range ${given}: must be one CIDR, or one per IP family`)
  }
  return cidrs
}
