import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubeconfigFile } from './file-format.ts'

export type Section = 'clusters' | 'contexts' | 'users'

/** The key of an entry beside its name. */
export const entryKeys = { clusters: 'cluster', contexts: 'context', users: 'user' } as const

/** Fields in kubectl's order, those that are always present with their value if they are absent. */
type FieldOrder = Readonly<Record<string, JsonValue | undefined>>

const orders: Readonly<Record<Section, FieldOrder>> = {
  clusters: {
    'server': '',
    'tls-server-name': undefined,
    'insecure-skip-tls-verify': undefined,
    'certificate-authority': undefined,
    'certificate-authority-data': undefined,
    'proxy-url': undefined,
    'disable-compression': undefined,
    'extensions': undefined,
  },
  contexts: { cluster: '', user: '', namespace: undefined, extensions: undefined },
  users: {
    'client-certificate': undefined,
    'client-certificate-data': undefined,
    'client-key': undefined,
    'client-key-data': undefined,
    'token': undefined,
    'tokenFile': undefined,
    'as': undefined,
    'as-uid': undefined,
    'as-groups': undefined,
    'as-user-extra': undefined,
    'username': undefined,
    'password': undefined,
    'auth-provider': undefined,
    'exec': undefined,
    'extensions': undefined,
  },
}

const execOrder: FieldOrder = {
  command: '',
  args: null,
  env: null,
  apiVersion: undefined,
  installHint: undefined,
  provideClusterInfo: false,
  interactiveMode: undefined,
}

const providerOrder: FieldOrder = { name: '', config: null }

/** The value of an entry as kubectl writes it: without empty fields. Unknown fields are kept. */
export function canonicalEntry(section: Section, value: JsonObject): JsonObject {
  const ordered = inOrder(value, orders[section])
  const { exec, 'auth-provider': provider } = ordered
  return {
    ...ordered,
    ...(isObject(provider) && { 'auth-provider': inOrder(provider, providerOrder) }),
    ...(isObject(exec) && { exec: inOrder(exec, execOrder) }),
  }
}

function inOrder(value: JsonObject, order: FieldOrder): JsonObject {
  const ordered: Record<string, JsonValue> = {}
  for (const [name, absent] of Object.entries(order)) {
    const each = value[name] ?? absent
    if (each !== undefined && (absent !== undefined || !isEmpty(each))) ordered[name] = each
  }
  const unknown = Object.entries(value).filter(([name]) => !Object.hasOwn(order, name))
  return { ...ordered, ...Object.fromEntries(unknown) }
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0
  return value === null || value === '' || value === false
}

/** A whole file as kubectl writes it: entries sorted by name, all sections present. */
export function canonicalFile(content: KubeconfigFile): KubeconfigFile {
  return {
    ...content,
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': sortedEntries('clusters', content.clusters),
    'contexts': sortedEntries('contexts', content.contexts),
    'users': sortedEntries('users', content.users),
    'current-context': content['current-context'] ?? '',
  } as KubeconfigFile
}

type Entry = Readonly<Record<string, unknown>> & { readonly name?: string }

/** An empty section is null. */
function sortedEntries(section: Section, entries: readonly Entry[] = []): readonly Entry[] | null {
  if (entries.length === 0) return null
  const key = entryKeys[section]
  return entries
    .toSorted(({ name: a = '' }, { name: b = '' }) => (a < b ? -1 : a > b ? 1 : 0))
    .map(({ name = '', ...entry }) => {
      return { ...entry, name, [key]: canonicalEntry(section, (entry[key] ?? {}) as JsonObject) }
    })
}
