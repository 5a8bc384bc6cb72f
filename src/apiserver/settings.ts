/**
 * API server options from flags and the files they name. Everything is read and validated before anything
 * starts, and errors name the flag. Values that flags do not set are left out; the cluster setup provides
 * them.
 */
import { createPrivateKey } from 'node:crypto'
import { parseCidr } from '#/api/net/cidr.ts'
import { UsageError } from '#/base/flags.ts'
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
import type { RequestLimits } from './flow-control.ts'
import { readAudit } from './settings/audit.ts'
import { readAuthentication, type PartialAuthenticationSettings } from './settings/authentication.ts'
import { readAuthorization } from './settings/authorization.ts'
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
  readonly advertiseAddress?: string
  readonly serviceCidrs?: readonly string[]
  readonly nodePorts?: PortRange
  /** When absent, the cluster's own front proxy certificate. */
  readonly proxyClient?: ProxyClientCertificate
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
  const proxyClient = await readProxyClient(flags, platform)
  return {
    authentication: await readAuthentication(flags, platform, defaults.serviceAccountIssuer),
    authorizers: await readAuthorization(flags, platform),
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
    ...(flags['advertise-address'] && { advertiseAddress: flags['advertise-address'] }),
    ...(serviceCidrs && { serviceCidrs }),
    ...(flags['service-node-port-range'] && { nodePorts: flags['service-node-port-range'] }),
    ...(proxyClient && { proxyClient }),
  }
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

async function readProxyClient(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<ProxyClientCertificate | undefined> {
  const read = (
    flag: 'proxy-client-cert-file' | 'proxy-client-key-file',
    check: (text: string) => unknown,
  ) => {
    return readFlagFile(platform, { flag, path: flags[flag] }, text => {
      check(text)
      return text
    })
  }
  const cert = await read('proxy-client-cert-file', text => {
    if (readCertificates(text).length === 0) throw new Error('contains no PEM certificate')
  })
  const key = await read('proxy-client-key-file', createPrivateKey)
  if (cert === undefined && key === undefined) return undefined
  if (cert !== undefined && key !== undefined) return { cert, key }
  throw new UsageError('--proxy-client-cert-file and --proxy-client-key-file must be specified together')
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
