/**
 * kubeadm's configuration file: documents of the kinds ClusterConfiguration, InitConfiguration and JoinConfiguration of
 * `kubeadm.k8s.io/v1beta4`, and a KubeletConfiguration, which all nodes get. A field that is unknown or has no meaning
 * here is an error, since a file must not be followed in part.
 * https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
 */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { parseYaml, readYamlDocuments } from '#/api/text/yaml.ts'
import { nodeBootstrapTokenGroup } from './bootstrap-token.ts'
import { configurationSchemas, unsupportedFields } from './configuration/schema.ts'
import type { ClusterConfiguration, InitConfiguration, JoinConfiguration } from './configuration/types.ts'
import {
  validateClusterConfiguration,
  validateInitConfiguration,
  validateJoinConfiguration,
} from './configuration/validate.ts'

export { splitEndpoint } from './configuration/validate.ts'
export type * from './configuration/types.ts'

const apiVersion = 'kubeadm.k8s.io/v1beta4'

export interface Configuration {
  readonly cluster: ClusterConfiguration
  readonly init: InitConfiguration
  /** Undefined when the file has no JoinConfiguration. */
  readonly join: JoinConfiguration | undefined
  /** The fields of a KubeletConfiguration; undefined when the file has none. */
  readonly kubelet: JsonObject | undefined
}

export interface ReadConfigurationOptions {
  /** For messages: `configuration file cluster.yaml`. */
  readonly source: string
  /** Minor version of the Kubernetes API that this program has. */
  readonly minor: string
}

/** Throws an Error with one line for each fault. Defaults are not set. */
export function readConfiguration(text: string, { source, minor }: ReadConfigurationOptions): Configuration {
  const documents = new Map<string, JsonObject>()
  const faults: string[] = []
  for (const { value, duplicateKeys } of documentsOf(text, source)) {
    const kind = kindOf(value)
    if (kind === undefined) {
      faults.push(unknownKind(value))
      continue
    }
    for (const { key, line } of duplicateKeys)
      faults.push(`line ${line}: key ${JSON.stringify(key)} is already set`)
    if (documents.has(kind)) faults.push(`${kind} is there twice`)
    const { fields, problems } = decodeDocument(kind, value)
    faults.push(...problems)
    documents.set(kind, fields)
  }
  const fieldsOf = (kind: string): JsonObject | undefined => documents.get(kind)
  const cluster = (fieldsOf('ClusterConfiguration') ?? {}) as ClusterConfiguration
  const init = (fieldsOf('InitConfiguration') ?? {}) as InitConfiguration
  const join = fieldsOf('JoinConfiguration') as JoinConfiguration | undefined
  faults.push(
    ...inKind('ClusterConfiguration', validateClusterConfiguration(cluster, { minor })),
    ...inKind('InitConfiguration', validateInitConfiguration(init)),
    ...(join === undefined ? [] : inKind('JoinConfiguration', validateJoinConfiguration(join))),
  )
  if (documents.size === 0 && faults.length === 0) faults.push('the file has no configuration')
  if (faults.length > 0) throw new Error(`cannot use ${source}: ${faults.join('\n')}`)
  return { cluster, init, join, kubelet: fieldsOf('KubeletConfiguration') }
}

function documentsOf(text: string, source: string) {
  try {
    return [...readYamlDocuments(text)]
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new Error(`cannot use ${source}: ${error.message}`, { cause: error })
  }
}

function kindOf(value: JsonValue): string | undefined {
  if (!isObject(value)) return undefined
  const kind = get(value, 'kind')
  const version = get(value, 'apiVersion')
  if (kind === 'KubeletConfiguration' && version === 'kubelet.config.k8s.io/v1beta1') return kind
  return version === apiVersion && typeof kind === 'string' && configurationSchemas.has(kind)
    ? kind
    : undefined
}

function unknownKind(value: JsonValue): string {
  const typeMeta = ['apiVersion', 'kind'].map(name => {
    const text = isObject(value) ? get(value, name) : undefined
    return typeof text === 'string' ? text : `(no ${name})`
  })
  const known = [...configurationSchemas.keys()].join(', ')
  return `${typeMeta.join(' ')} is not supported: use ${known} of ${apiVersion}`
}

function decodeDocument(
  kind: string,
  value: JsonValue,
): { readonly fields: JsonObject; readonly problems: readonly string[] } {
  const { apiVersion: _version, kind: _kind, ...fields } = value as JsonObject
  const schema = configurationSchemas.get(kind)
  if (schema === undefined) return { fields, problems: [] }
  try {
    const decoded = decode(fields, schema)
    return { fields: decoded.value, problems: inKind(kind, decoded.unknownFields.map(describeUnknown)) }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return { fields: {}, problems: inKind(kind, [error.message]) }
  }
}

function describeUnknown(path: string): string {
  const reason = unsupportedFields.get(/[^.]*$/.exec(path)?.[0] ?? '')
  return reason === undefined ? `unknown field ${path}` : `field ${path} is not supported: ${reason}`
}

function inKind(kind: string, lines: readonly string[]): readonly string[] {
  return lines.map(line => `${kind}: ${line}`)
}

/** Unknown fields are ignored. Throws when the text is no ClusterConfiguration. */
export function readStoredClusterConfiguration(text: string): ClusterConfiguration {
  const value = parseYaml(text)
  if (kindOf(value) !== 'ClusterConfiguration') throw new Error(unknownKind(value))
  return decode(value, configurationSchemas.get('ClusterConfiguration')!).value
}

/** A document of the file. Undefined members are left out. */
export function formatConfiguration(kind: string, configuration: object): string {
  const fields = JSON.parse(JSON.stringify(configuration)) as JsonObject
  return stringifyYaml({ apiVersion, kind, ...fields })
}

export interface DefaultsOptions {
  readonly nodeName: string
  /** `v1.36.0` */
  readonly kubernetesVersion: string
  readonly certificatesDir: string
}

const exampleToken = 'abcdef.0123456789abcdef'

const timeouts = {
  controlPlaneComponentHealthCheck: '4m0s',
  discovery: '5m0s',
  etcdAPICall: '2m0s',
  kubeletHealthCheck: '4m0s',
  kubernetesAPICall: '1m0s',
  tlsBootstrap: '5m0s',
}

/** The documents that `config print init-defaults` shows. */
export function defaultInitConfiguration(options: DefaultsOptions): {
  readonly init: InitConfiguration
  readonly cluster: ClusterConfiguration
} {
  return {
    init: {
      bootstrapTokens: [
        {
          groups: [nodeBootstrapTokenGroup],
          token: exampleToken,
          ttl: '24h0m0s',
          usages: ['signing', 'authentication'],
        },
      ],
      localAPIEndpoint: { advertiseAddress: '1.2.3.4', bindPort: 6443 },
      nodeRegistration: { name: options.nodeName },
      timeouts,
    },
    cluster: {
      ...defaultClusterConfiguration(options),
      etcd: { local: { dataDir: '/var/lib/etcd' } },
    },
  }
}

/** The fields of a cluster configuration that have a default. */
export function defaultClusterConfiguration({
  kubernetesVersion,
  certificatesDir,
}: Pick<DefaultsOptions, 'kubernetesVersion' | 'certificatesDir'>): ClusterConfiguration {
  return {
    apiServer: {},
    caCertificateValidityPeriod: '87600h0m0s',
    certificateValidityPeriod: '8760h0m0s',
    certificatesDir,
    clusterName: 'kubernetes',
    controllerManager: {},
    dns: {},
    encryptionAlgorithm: 'ECDSA-P256',
    kubernetesVersion,
    networking: { dnsDomain: 'cluster.local', serviceSubnet: '10.96.0.0/12' },
    proxy: {},
    scheduler: {},
  }
}

/** The document that `config print join-defaults` shows. */
export function defaultJoinConfiguration({ nodeName, certificatesDir }: DefaultsOptions): JoinConfiguration {
  return {
    caCertPath: `${certificatesDir}/ca.crt`,
    discovery: {
      bootstrapToken: {
        apiServerEndpoint: 'kube-apiserver:6443',
        token: exampleToken,
        unsafeSkipCAVerification: true,
      },
      tlsBootstrapToken: exampleToken,
    },
    nodeRegistration: { name: nodeName },
    timeouts,
  }
}
