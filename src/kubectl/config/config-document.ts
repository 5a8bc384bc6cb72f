import { dirname, resolve } from 'node:path'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { canonicalEntry, type Kubeconfig } from '#/kubeconfig/kubeconfig.ts'
import type { Files } from '#/platform/platform.ts'
import { describeFileError } from '../read-file-content.ts'

export interface ConfigDocumentOptions {
  readonly files: Files
  /** Only what the context uses. */
  readonly isMinified: boolean
  /** Files are replaced by their content. */
  readonly isFlat: boolean
  /** Credentials are shown. */
  readonly isRaw: boolean
  /** Instead of the current context. */
  readonly context?: string
}

const omittedData = 'DATA+OMITTED'
const redacted = 'REDACTED'

/** The merged kubeconfig as one document, with the fields in the order of the API. */
export async function configDocument(
  kubeconfig: Kubeconfig,
  options: ConfigDocumentOptions,
): Promise<JsonObject> {
  const current = options.context ?? kubeconfig.currentContext
  const context = kubeconfig.contexts.get(current)
  if (options.isMinified && current === '') {
    throw new Error('current-context must exist in order to minify')
  }
  if (options.isMinified && context === undefined) throw new Error(`cannot locate context ${current}`)
  const { cluster = '', user = '' } = context?.value ?? {}
  if (options.isMinified) requireEntries(kubeconfig, { cluster, user })
  const shown = async (section: 'clusters' | 'contexts' | 'users', key: string, only: string) => {
    const names = [...kubeconfig[section].keys()].sort()
    const entries = names
      .filter(name => !options.isMinified || name === only)
      .map(async name => {
        const { value, file } = kubeconfig[section].get(name)!
        const entry = canonicalEntry(section, value as JsonObject)
        return { name, [key]: await shownEntry(entry, file, options) }
      })
    const values = await Promise.all(entries)
    return values.length === 0 ? null : values
  }
  return {
    'kind': 'Config',
    'apiVersion': 'v1',
    'clusters': await shown('clusters', 'cluster', cluster),
    'users': await shown('users', 'user', user),
    'contexts': await shown('contexts', 'context', current),
    'current-context': current,
  }
}

function requireEntries(
  { clusters, users }: Kubeconfig,
  { cluster, user }: { readonly cluster: string; readonly user: string },
): void {
  if (cluster !== '' && !clusters.has(cluster)) throw new Error(`cannot locate cluster ${cluster}`)
  if (user !== '' && !users.has(user)) throw new Error(`cannot locate user ${user}`)
}

async function shownEntry(
  entry: JsonObject,
  file: string,
  options: ConfigDocumentOptions,
): Promise<JsonObject> {
  const fields = options.isFlat ? await flattened(entry, file, options.files) : Object.entries(entry)
  return Object.fromEntries(
    fields.map(([name, value]) => [name, options.isRaw ? value : masked(name, value)]),
  )
}

function masked(name: string, value: JsonValue): JsonValue {
  if (name.endsWith('-data')) return omittedData
  return name === 'token' || name === 'password' ? redacted : value
}

const pathFields: ReadonlySet<string> = new Set(['certificate-authority', 'client-certificate', 'client-key'])

type Fields = readonly (readonly [string, JsonValue])[]

async function flattened(entry: JsonObject, file: string, files: Files): Promise<Fields> {
  const fields = Object.entries(entry).map(async ([name, value]) => {
    if (!pathFields.has(name) || typeof value !== 'string') return [name, value] as const
    const path = resolve(dirname(file), value)
    try {
      return [`${name}-data`, Buffer.from(await files.read(path)).toString('base64')] as const
    } catch (error) {
      throw new Error(describeFileError('open', path, error), { cause: error })
    }
  })
  return Promise.all(fields)
}
