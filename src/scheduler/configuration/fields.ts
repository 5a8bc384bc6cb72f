/** The fields of `KubeSchedulerConfiguration`, as types and as decoding schemas. */
import { boolean, integer, list, long, number, string, struct } from './schema.ts'

export interface ConfigurationFile {
  readonly parallelism?: number
  readonly percentageOfNodesToScore?: number
  readonly podInitialBackoffSeconds?: number
  readonly podMaxBackoffSeconds?: number
  readonly profiles?: readonly ProfileFields[]
  readonly extenders?: readonly ExtenderFields[]
  readonly leaderElection?: LeaderElectionFields
  readonly clientConnection?: {
    readonly kubeconfig?: string
    readonly acceptContentTypes?: string
    readonly contentType?: string
    readonly qps?: number
    readonly burst?: number
  }
  readonly enableProfiling?: boolean
  readonly enableContentionProfiling?: boolean
  readonly delayCacheUntilActive?: boolean
}

export interface LeaderElectionFields {
  readonly leaderElect?: boolean
  readonly leaseDuration?: string
  readonly renewDeadline?: string
  readonly retryPeriod?: string
  readonly resourceLock?: string
  readonly resourceName?: string
  readonly resourceNamespace?: string
}

export interface ProfileFields {
  readonly schedulerName?: string
  readonly percentageOfNodesToScore?: number
  readonly plugins?: PluginsFields
  readonly pluginConfig?: readonly PluginConfigFields[]
}

export type PluginsFields = { readonly [Point in PointName]?: PluginSetFields }

export interface PluginSetFields {
  readonly enabled?: readonly PluginFields[]
  readonly disabled?: readonly PluginFields[]
}

export interface PluginFields {
  readonly name?: string
  readonly weight?: number
}

export interface PluginConfigFields {
  readonly name?: string
  /** Extension of k8ts: the module with the plugin factory as default export. */
  readonly import?: string
  readonly args?: unknown
}

export interface ExtenderFields {
  readonly urlPrefix?: string
  readonly filterVerb?: string
  readonly preemptVerb?: string
  readonly prioritizeVerb?: string
  readonly weight?: number
  readonly bindVerb?: string
  readonly enableHTTPS?: boolean
  readonly tlsConfig?: ExtenderTlsFields
  readonly httpTimeout?: string
  readonly nodeCacheCapable?: boolean
  readonly managedResources?: readonly ManagedResourceFields[]
  readonly ignorable?: boolean
}

export interface ManagedResourceFields {
  readonly name?: string
  readonly ignoredByScheduler?: boolean
}

export interface ExtenderTlsFields {
  readonly insecure?: boolean
  readonly serverName?: string
  readonly certFile?: string
  readonly keyFile?: string
  readonly caFile?: string
  readonly certData?: string
  readonly keyData?: string
  readonly caData?: string
}

/** The extension points as named in configuration files. */
const pointNames = [
  'multiPoint',
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
  'placementGenerate',
  'placementScore',
] as const

export type PointName = (typeof pointNames)[number]

const plugins = list(struct({ name: string, weight: integer }))
const pluginSet = struct({ enabled: plugins, disabled: plugins })

const profile = struct({
  schedulerName: string,
  percentageOfNodesToScore: integer,
  plugins: struct(Object.fromEntries(pointNames.map(name => [name, pluginSet]))),
  pluginConfig: list(struct({ name: string, import: string, args: { type: 'any' } })),
})

const bytes = { type: 'string', format: 'byte' } as const

const tlsConfig = struct({
  insecure: boolean,
  serverName: string,
  certFile: string,
  keyFile: string,
  caFile: string,
  certData: bytes,
  keyData: bytes,
  caData: bytes,
})

const extenderFields = {
  urlPrefix: string,
  filterVerb: string,
  preemptVerb: string,
  prioritizeVerb: string,
  weight: long,
  bindVerb: string,
  tlsConfig,
  nodeCacheCapable: boolean,
  managedResources: list(struct({ name: string, ignoredByScheduler: boolean })),
  ignorable: boolean,
}

export const configurationSchema = struct({
  apiVersion: string,
  kind: string,
  parallelism: integer,
  percentageOfNodesToScore: integer,
  podInitialBackoffSeconds: long,
  podMaxBackoffSeconds: long,
  profiles: list(profile),
  extenders: list(struct({ ...extenderFields, enableHTTPS: boolean, httpTimeout: string })),
  leaderElection: struct({
    leaderElect: boolean,
    leaseDuration: string,
    renewDeadline: string,
    retryPeriod: string,
    resourceLock: string,
    resourceName: string,
    resourceNamespace: string,
  }),
  clientConnection: struct({
    kubeconfig: string,
    acceptContentTypes: string,
    contentType: string,
    qps: number,
    burst: integer,
  }),
  enableProfiling: boolean,
  enableContentionProfiling: boolean,
  delayCacheUntilActive: boolean,
})

/** Older files have different field names for extenders, and the timeout in nanoseconds. */
export const oldExtenderSchema = struct({ ...extenderFields, enableHttps: boolean, httpTimeout: long })
