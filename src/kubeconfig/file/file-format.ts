/** The format of a kubeconfig file: field names with dashes, lists of named entries. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import type { Field, ListSchema, Schema, StructSchema } from '#/api/schema.ts'
import { parseYaml } from '#/api/text/yaml.ts'

export interface KubeconfigFile {
  readonly 'apiVersion'?: string
  readonly 'kind'?: string
  readonly 'current-context'?: string
  readonly 'clusters'?: readonly { readonly name?: string; readonly cluster?: ClusterEntry }[]
  readonly 'contexts'?: readonly { readonly name?: string; readonly context?: ContextEntry }[]
  readonly 'users'?: readonly { readonly name?: string; readonly user?: UserEntry }[]
}

export interface ClusterEntry {
  readonly 'server'?: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'certificate-authority'?: string
  /** Base64, as all `-data` fields. */
  readonly 'certificate-authority-data'?: string
  readonly 'proxy-url'?: string
  readonly 'disable-compression'?: boolean
  readonly 'extensions'?: readonly { readonly name?: string; readonly extension?: unknown }[]
}

export interface ContextEntry {
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
}

export interface UserEntry {
  readonly 'client-certificate'?: string
  readonly 'client-certificate-data'?: string
  readonly 'client-key'?: string
  readonly 'client-key-data'?: string
  readonly 'token'?: string
  readonly 'tokenFile'?: string
  readonly 'as'?: string
  readonly 'as-uid'?: string
  readonly 'as-groups'?: readonly string[]
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>
  readonly 'username'?: string
  readonly 'password'?: string
  readonly 'auth-provider'?: { readonly name?: string }
  readonly 'exec'?: ExecEntry
}

export interface ExecEntry {
  readonly apiVersion?: string
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name?: string; readonly value?: string }[]
  readonly installHint?: string
  readonly provideClusterInfo?: boolean
  readonly interactiveMode?: string
}

/** Maximum size of a kubeconfig file. */
const fileBytesMax = 10_000_000

/** Keeps unknown fields. Throws Error when the content is not a kubeconfig. */
export function readKubeconfigFile(content: Uint8Array, path: string): KubeconfigFile {
  try {
    const { value } = decode(parseYaml(content, { maxBytes: fileBytesMax }), fileSchema)
    const file = value as KubeconfigFile
    const isConfig = (file.kind ?? 'Config') === 'Config' && (file.apiVersion ?? 'v1') === 'v1'
    if (!isConfig) throw new DecodeError('type', `expected v1 Config, got ${file.apiVersion} ${file.kind}`)
    return file
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new Error(`cannot read kubeconfig ${path}: ${error.message}`, { cause: error })
  }
}

const text: Schema = { type: 'string' }
const flag: Schema = { type: 'boolean' }
const anything: Schema = { type: 'any' }

function struct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  const entries = Object.entries(fields).map(([name, schema]): [string, Field] => {
    return [name, { schema, required: false }]
  })
  return { type: 'struct', name, fields: new Map(entries), atomic: false, preserveUnknownFields: true }
}

function listOf(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

const clusterSchema = struct('Cluster', {
  'server': text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': flag,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'proxy-url': text,
  'disable-compression': flag,
  'extensions': listOf(struct('NamedExtension', { name: text, extension: anything })),
})

const execSchema = struct('ExecConfig', {
  apiVersion: text,
  command: text,
  args: listOf(text),
  env: listOf(struct('ExecEnvVar', { name: text, value: text })),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: text,
})

const userSchema = struct('AuthInfo', {
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  'token': text,
  'tokenFile': text,
  'as': text,
  'as-uid': text,
  'as-groups': listOf(text),
  'as-user-extra': { type: 'map', values: listOf(text), atomic: false },
  'username': text,
  'password': text,
  'auth-provider': struct('AuthProviderConfig', { name: text }),
  'exec': execSchema,
})

const contextSchema = struct('Context', { cluster: text, user: text, namespace: text })

const fileSchema = struct('Config', {
  'apiVersion': text,
  'kind': text,
  'current-context': text,
  'clusters': listOf(struct('NamedCluster', { name: text, cluster: clusterSchema })),
  'contexts': listOf(struct('NamedContext', { name: text, context: contextSchema })),
  'users': listOf(struct('NamedAuthInfo', { name: text, user: userSchema })),
})
