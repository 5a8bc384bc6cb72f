/** Schemas of the kinds of the configuration file, and kubeadm's fields that have no meaning here. */
import type { ListSchema, Schema, StructSchema } from '#/api/schema.ts'

const string: Schema = { type: 'string' }
const boolean: Schema = { type: 'boolean' }
const integer: Schema = { type: 'integer', format: 'int32' }
const strings = list(string)
const args = list(struct({ name: string, value: string }))
const component = { extraArgs: args }

const apiEndpoint = struct({ advertiseAddress: string, bindPort: integer })

const nodeRegistration = struct({
  name: string,
  taints: list(struct({ key: string, value: string, effect: string })),
  kubeletExtraArgs: args,
  ignorePreflightErrors: strings,
})

const timeouts = struct({
  controlPlaneComponentHealthCheck: string,
  discovery: string,
  etcdAPICall: string,
  kubeletHealthCheck: string,
  kubernetesAPICall: string,
  tlsBootstrap: string,
})

const clusterConfiguration = struct({
  apiServer: struct({ ...component, certSANs: strings }),
  caCertificateValidityPeriod: string,
  certificateValidityPeriod: string,
  certificatesDir: string,
  clusterName: string,
  controlPlaneEndpoint: string,
  controllerManager: struct(component),
  dns: struct({ disabled: boolean }),
  encryptionAlgorithm: string,
  etcd: struct({
    local: struct({ dataDir: string, extraArgs: args, serverCertSANs: strings, peerCertSANs: strings }),
    external: struct({ endpoints: strings, caFile: string, certFile: string, keyFile: string }),
  }),
  kubernetesVersion: string,
  networking: struct({ serviceSubnet: string, podSubnet: string, dnsDomain: string }),
  proxy: struct({ disabled: boolean }),
  scheduler: struct(component),
})

const initConfiguration = struct({
  bootstrapTokens: list(
    struct({
      token: string,
      description: string,
      ttl: string,
      expires: string,
      usages: strings,
      groups: strings,
    }),
  ),
  nodeRegistration,
  localAPIEndpoint: apiEndpoint,
  certificateKey: string,
  skipPhases: strings,
  timeouts,
})

const joinConfiguration = struct({
  nodeRegistration,
  caCertPath: string,
  discovery: struct({
    bootstrapToken: struct({
      token: string,
      apiServerEndpoint: string,
      caCertHashes: strings,
      unsafeSkipCAVerification: boolean,
    }),
    file: struct({ kubeConfigPath: string }),
    tlsBootstrapToken: string,
  }),
  controlPlane: struct({ localAPIEndpoint: apiEndpoint, certificateKey: string }),
  skipPhases: strings,
  timeouts,
})

export const configurationSchemas: ReadonlyMap<string, StructSchema> = new Map([
  ['ClusterConfiguration', clusterConfiguration],
  ['InitConfiguration', initConfiguration],
  ['JoinConfiguration', joinConfiguration],
])

const noImages = 'the components are not container images'
const noStaticPods = 'the components are not pods'

/** The last name of a field of kubeadm, and why it has no meaning here. */
export const unsupportedFields: ReadonlyMap<string, string> = new Map([
  ['criSocket', 'each node has a containerd of its own'],
  ['dryRun', 'there is no dry run'],
  ['extraEnvs', noStaticPods],
  ['extraVolumes', noStaticPods],
  ['featureGates', 'there are no feature gates of kubeadm'],
  ['httpEndpoints', 'set the endpoints'],
  ['imagePullPolicy', noImages],
  ['imagePullSerial', noImages],
  ['imageRepository', noImages],
  ['imageTag', noImages],
  ['patches', noStaticPods],
  ['timeAdded', 'taints are added when the node registers'],
  ['upgradeManifests', noStaticPods],
])

function struct(fields: Readonly<Record<string, Schema>>): StructSchema {
  return {
    type: 'struct',
    name: 'kubeadm.Configuration',
    fields: new Map(Object.entries(fields).map(([name, schema]) => [name, { schema, required: false }])),
    atomic: false,
    preserveUnknownFields: false,
  }
}

function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}
