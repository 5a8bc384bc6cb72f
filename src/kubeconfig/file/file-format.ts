/** The format of a kubeconfig file: field names with dashes, lists of named entries. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import type { Field, ListSchema, Schema, StructSchema } from '#/api/schema.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parsePlainYaml } from '#/api/text/plain-yaml.ts'
import { quote } from '#/api/text/quote.ts'
import { KubeconfigFileError } from '../kubeconfig-error.ts'

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
  readonly 'extensions'?: readonly NamedExtension[]
}

export interface ContextEntry {
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
  readonly extensions?: readonly NamedExtension[]
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
  readonly 'auth-provider'?: AuthProviderEntry
  readonly 'exec'?: ExecEntry
  readonly 'extensions'?: readonly NamedExtension[]
}

export interface NamedExtension {
  readonly name?: string
  readonly extension?: unknown
}

export interface AuthProviderEntry {
  readonly name?: string
  readonly config?: Readonly<Record<string, string>>
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

interface NamedFile {
  readonly path: string
  /** As given on the command line or in the environment. */
  readonly given: string
}

/** Keeps unknown fields. Throws KubeconfigFileError when the content is not a kubeconfig. */
export async function readKubeconfigFile(
  content: Uint8Array,
  { path, given }: NamedFile,
): Promise<KubeconfigFile> {
  try {
    const { value } = decode(await parseFile(content), fileSchema)
    const file = value as KubeconfigFile
    const { kind = 'Config', apiVersion = 'v1' } = file
    if (kind !== 'Config' || apiVersion !== 'v1') {
      throw new DecodeError('type', `no kind ${quote(kind)} is registered for version ${quote(apiVersion)}`)
    }
    return file
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new KubeconfigFileError({ path, given, reason: error.message, cause: error })
  }
}

/** The complete parser takes longer to load than most commands run. */
async function parseFile(content: Uint8Array): Promise<JsonValue> {
  const plain = content.length > fileBytesMax ? undefined : parsePlainYaml(Buffer.from(content).toString())
  if (plain !== undefined) return plain[0] ?? null
  const { parseYaml } = await import('#/api/text/yaml.ts')
  return parseYaml(content, { maxBytes: fileBytesMax })
}

const text: Schema = { type: 'string' }
const data: Schema = { type: 'string', format: 'byte' }
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

const extensions = listOf(struct('NamedExtension', { name: text, extension: anything }))

const clusterSchema = struct('Cluster', {
  'server': text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': flag,
  'certificate-authority': text,
  'certificate-authority-data': data,
  'proxy-url': text,
  'disable-compression': flag,
  'extensions': extensions,
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
  'client-certificate-data': data,
  'client-key': text,
  'client-key-data': data,
  'token': text,
  'tokenFile': text,
  'as': text,
  'as-uid': text,
  'as-groups': listOf(text),
  'as-user-extra': { type: 'map', values: listOf(text), atomic: false },
  'username': text,
  'password': text,
  'auth-provider': struct('AuthProviderConfig', {
    name: text,
    config: { type: 'map', values: text, atomic: false },
  }),
  'exec': execSchema,
  'extensions': extensions,
})

const contextSchema = struct('Context', { cluster: text, user: text, namespace: text, extensions })

const fileSchema = struct('Config', {
  'apiVersion': text,
  'kind': text,
  'current-context': text,
  'clusters': listOf(struct('NamedCluster', { name: text, cluster: clusterSchema })),
  'contexts': listOf(struct('NamedContext', { name: text, context: contextSchema })),
  'users': listOf(struct('NamedAuthInfo', { name: text, user: userSchema })),
})
