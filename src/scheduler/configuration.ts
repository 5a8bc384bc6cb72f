/**
 * Scheduler configuration files: `KubeSchedulerConfiguration`, or the older `Policy`. Unknown fields are
 * errors; absent fields are defaulted. https://kubernetes.io/docs/reference/scheduling/config/
 */
import { messageOf } from '#/base/message-of.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { formatFieldErrors } from '#/api/field-error.ts'
import type { LeaderElectionTimings } from '#/client/leader-election.ts'
import type { HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type {
  ConfigurationFile,
  ExtenderFields,
  ExtenderTlsFields,
  ProfileFields,
} from './configuration/fields.ts'
import { configurationSchema } from './configuration/fields.ts'
import { importedPlugins, type ImportModule } from './configuration/imported-plugins.ts'
import { readPolicy } from './configuration/policy.ts'
import { configuredProfiles, type ProfileSettings } from './configuration/profiles.ts'
import { ConfigurationError, readFile, type FileKind } from './configuration/schema.ts'
import { validateConfiguration } from './configuration/validate.ts'
import { Extenders, type ExtenderSettings } from './extenders.ts'
import { defaultPlugins } from './plugins.ts'
import type { ProfileFactory } from './profile.ts'

export interface SchedulerConfiguration extends AsyncDisposable {
  /** Throws ConfigurationError if a plugin rejects its args. */
  readonly profiles: ProfileFactory
  readonly backoffMs: { readonly first: number; readonly max: number }
  /** Undefined if leader election is disabled. */
  readonly leaderElection: LeaderElectionSettings | undefined
  /** Path of the kubeconfig; empty if not configured. */
  readonly kubeconfig: string
  /** Limits of requests to the API server; absent if not configured. */
  readonly requestLimits?: { readonly perSecond: number; readonly burst: number }
  /** A standby of the leader election leaves its caches empty. */
  readonly delayCacheUntilActive: boolean
}

export interface LeaderElectionSettings {
  readonly lease: { readonly namespace: string; readonly name: string }
  readonly timings: LeaderElectionTimings
}

export interface ConfigurationContext {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  /** Base of relative paths in the file. */
  readonly folder: string
  readonly importModule: ImportModule
}

const fileKind: FileKind<ConfigurationFile> = {
  group: 'kubescheduler.config.k8s.io',
  version: 'v1',
  kind: 'KubeSchedulerConfiguration',
  schema: configurationSchema,
}

/** Throws ConfigurationError. */
export async function readSchedulerConfiguration(
  text: string,
  context: ConfigurationContext,
): Promise<SchedulerConfiguration> {
  return configurationOf(readFile(text, fileKind), context)
}

/** Reads a file of the flag `--policy-config-file`. Throws ConfigurationError. */
export async function readSchedulerPolicy(
  text: string,
  context: ConfigurationContext,
): Promise<SchedulerConfiguration> {
  return configurationOf(readPolicy(text), context)
}

async function configurationOf(
  file: ConfigurationFile,
  context: ConfigurationContext,
): Promise<SchedulerConfiguration> {
  const errors = validateConfiguration(file)
  if (errors.length > 0) throw new ConfigurationError(formatFieldErrors(errors))
  const given = file.profiles ?? []
  const fields: readonly ProfileFields[] = given.length === 0 ? [{}] : given
  const ignoredResources = (file.extenders ?? [])
    .flatMap(({ managedResources = [] }) => managedResources)
    .flatMap(({ name = '', ignoredByScheduler }) => (ignoredByScheduler ? [name] : []))
  const settings = await Promise.all(
    fields.map(async (profile, index): Promise<ProfileSettings> => {
      const field = `profiles[${index}]`
      return {
        schedulerName: profile.schedulerName ?? 'default-scheduler',
        percentageOfNodesToScore: profile.percentageOfNodesToScore ?? file.percentageOfNodesToScore ?? 0,
        fields: profile,
        field,
        imported: await importedPlugins(profile.pluginConfig ?? [], field, context),
        ignoredResources,
      }
    }),
  )
  const extenders = new Extenders({
    ...context,
    extenders: await Promise.all(
      (file.extenders ?? []).map((extender, index) =>
        extenderSettings(extender, `extenders[${index}]`, context),
      ),
    ),
  })
  const { podInitialBackoffSeconds: first = 1, podMaxBackoffSeconds: max = 10 } = file
  return {
    profiles: configuredProfiles({ settings, defaults: defaultPlugins, extenders }),
    backoffMs: { first: first * 1_000, max: max * 1_000 },
    leaderElection: leaderElectionOf(file),
    kubeconfig: file.clientConnection?.kubeconfig ?? '',
    delayCacheUntilActive: file.delayCacheUntilActive ?? false,
    ...requestLimitsOf(file),
    [Symbol.asyncDispose]: () => extenders[Symbol.asyncDispose](),
  }
}

/** As in Kubernetes, a negative rate is no limit, and the burst is 100 if not configured. */
function requestLimitsOf({ clientConnection = {} }: ConfigurationFile): Partial<SchedulerConfiguration> {
  const { qps = 0, burst = 0 } = clientConnection
  return qps > 0 ? { requestLimits: { perSecond: qps, burst: burst || 100 } } : {}
}

function leaderElectionOf({ leaderElection = {} }: ConfigurationFile): LeaderElectionSettings | undefined {
  const { leaderElect = true, resourceNamespace, resourceName } = leaderElection
  if (!leaderElect) return undefined
  const { leaseDuration, renewDeadline, retryPeriod } = leaderElection
  return {
    lease: { namespace: resourceNamespace || 'kube-system', name: resourceName || 'kube-scheduler' },
    timings: {
      leaseDurationMs: millisecondsOf(leaseDuration) || 15_000,
      renewDeadlineMs: millisecondsOf(renewDeadline) || 10_000,
      retryPeriodMs: millisecondsOf(retryPeriod) || 2_000,
    },
  }
}

/** Default timeout of a request to an extender. */
const extenderTimeoutMs = 5_000

async function extenderSettings(
  fields: ExtenderFields,
  field: string,
  context: ConfigurationContext,
): Promise<ExtenderSettings> {
  const { urlPrefix = '', filterVerb, prioritizeVerb, preemptVerb, bindVerb, weight = 1 } = fields
  const tls = await readTls(fields, `${field}.tlsConfig`, context)
  return {
    urlPrefix,
    ...(filterVerb && { filterVerb }),
    ...(prioritizeVerb && { prioritizeVerb }),
    ...(preemptVerb && { preemptVerb }),
    ...(bindVerb && { bindVerb }),
    weight,
    ...(tls && { tls }),
    timeoutMs: millisecondsOf(fields.httpTimeout) || extenderTimeoutMs,
    isNodeCacheCapable: fields.nodeCacheCapable ?? false,
    managedResources: new Set((fields.managedResources ?? []).map(({ name = '' }) => name)),
    isIgnorable: fields.ignorable ?? false,
  }
}

/** Without a CA the server certificate is not verified, as in Kubernetes. */
async function readTls(
  { enableHTTPS = false, tlsConfig = {}, urlPrefix = '' }: ExtenderFields,
  field: string,
  context: ConfigurationContext,
): Promise<HttpClientTls | undefined> {
  if (!enableHTTPS && !urlPrefix.startsWith('https:')) return undefined
  const { insecure = false, serverName } = tlsConfig
  const [ca, cert, key] = await Promise.all([
    readPem('ca', { tls: tlsConfig, field }, context),
    readPem('cert', { tls: tlsConfig, field }, context),
    readPem('key', { tls: tlsConfig, field }, context),
  ])
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName && { serverName }),
    insecureSkipVerify: insecure || (enableHTTPS && ca === undefined),
  }
}

async function readPem(
  part: 'ca' | 'cert' | 'key',
  { tls, field }: { readonly tls: ExtenderTlsFields; readonly field: string },
  { platform, folder }: ConfigurationContext,
): Promise<Uint8Array | undefined> {
  const [data, file] = [tls[`${part}Data`], tls[`${part}File`]]
  if (data) return Buffer.from(data, 'base64')
  if (!file) return undefined
  try {
    return await platform.files.read(file.startsWith('/') ? file : `${folder}/${file}`)
  } catch (cause) {
    const reason = messageOf(cause)
    throw new ConfigurationError(`${field}.${part}File: ${reason}`, { cause })
  }
}

function millisecondsOf(text: string | undefined): number {
  return text === undefined ? 0 : (tryParseDurationMs(text) ?? 0)
}
