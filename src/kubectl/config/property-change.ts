import type { Kubeconfig, KubeconfigEdit } from '#/kubeconfig/kubeconfig.ts'
import { quote } from '#/api/text/quote.ts'

export interface PropertyChange {
  /** `contexts.staging.namespace`. */
  readonly property: string
  /** Undefined removes the property. */
  readonly value: string | undefined
  /** Binary values are not in base64. */
  readonly isRaw: boolean
}

type Section = 'clusters' | 'contexts' | 'users'

type Entry = Readonly<Record<string, unknown>>

type FieldType = 'text' | 'boolean' | 'data' | 'list' | 'struct'

const fields: Readonly<Record<Section, Readonly<Record<string, FieldType>>>> = {
  clusters: {
    'certificate-authority': 'text',
    'certificate-authority-data': 'data',
    'disable-compression': 'boolean',
    'insecure-skip-tls-verify': 'boolean',
    'proxy-url': 'text',
    'server': 'text',
    'tls-server-name': 'text',
  },
  contexts: { cluster: 'text', namespace: 'text', user: 'text' },
  users: {
    'as': 'text',
    'as-groups': 'list',
    'as-uid': 'text',
    'auth-provider': 'struct',
    'client-certificate': 'text',
    'client-certificate-data': 'data',
    'client-key': 'text',
    'client-key-data': 'data',
    'exec': 'struct',
    'password': 'text',
    'token': 'text',
    'tokenFile': 'text',
    'username': 'text',
  },
}

/** Throws Error for a property that does not exist. Empty if there is nothing to change. */
export function planPropertyChange(
  kubeconfig: Kubeconfig,
  change: PropertyChange,
): readonly KubeconfigEdit[] {
  const { property, value } = change
  const [first = '', ...rest] = property.split('.')
  if (first === 'current-context' && rest.length === 0) return [{ section: first, value: value ?? '' }]
  // As kubectl, which accepts them, but writes its own.
  if ((first === 'kind' || first === 'apiVersion') && rest.length === 0) return []
  if (!isSection(first)) throw new Error(`unable to parse ${first} after [] at api.Config`)
  const path = readPath(first, rest, property)
  return value === undefined ? planRemoval(kubeconfig, path) : [planSetting(kubeconfig, path, change)]
}

function isSection(name: string): name is Section {
  return Object.hasOwn(fields, name)
}

interface PropertyPath {
  readonly section: Section
  /** Of the entry; empty for the whole section. */
  readonly name: string
  readonly field: string | undefined
}

/** Names of entries may have dots: the first field name after the name ends it. */
function readPath(section: Section, rest: readonly string[], property: string): PropertyPath {
  const at = rest.findIndex((part, index) => index > 0 && Object.hasOwn(fields[section], part))
  if (at === -1) return { section, name: rest.join('.'), field: undefined }
  if (at !== rest.length - 1) throw new Error(`unable to parse one or more field values of ${property}`)
  return { section, name: rest.slice(0, at).join('.'), field: rest[at]! }
}

function planRemoval(
  kubeconfig: Kubeconfig,
  { section, name, field }: PropertyPath,
): readonly KubeconfigEdit[] {
  if (name === '') {
    return [...kubeconfig[section].keys()].map((each): KubeconfigEdit => ({
      section,
      name: each,
      value: undefined,
    }))
  }
  const entry = entryOf(kubeconfig, section, name)
  if (field === undefined) return entry === undefined ? [] : [{ section, name, value: undefined }]
  if (entry === undefined) throw new Error(`current map key \`${name}\` is invalid`)
  const { [field]: _removed, ...kept } = entry
  return [{ section, name, value: kept }]
}

function planSetting(
  kubeconfig: Kubeconfig,
  { section, name, field }: PropertyPath,
  change: PropertyChange,
): KubeconfigEdit {
  if (name === '' || field === undefined) {
    const known = Object.keys(fields[section]).join(', ')
    throw new Error(
      `can't set a map to a value: ${change.property} is no field of an entry, which are: ${known}`,
    )
  }
  const type = fields[section][field]!
  if (type === 'struct') throw new Error(`unable to parse one or more field values of ${change.property}`)
  return { section, name, value: { ...entryOf(kubeconfig, section, name), [field]: valueOf(type, change) } }
}

function entryOf(kubeconfig: Kubeconfig, section: Section, name: string): Entry | undefined {
  const located: { readonly value: object } | undefined = kubeconfig[section].get(name)
  return located && { ...located.value }
}

function valueOf(type: FieldType, { value = '', isRaw }: PropertyChange): unknown {
  if (type === 'boolean') {
    if (/^(?:1|t|T|true|TRUE|True)$/.test(value)) return true
    if (/^(?:0|f|F|false|FALSE|False)$/.test(value)) return false
    throw new Error(`strconv.ParseBool: parsing ${quote(value)}: invalid syntax`)
  }
  if (type === 'list') return value.split(',')
  if (type !== 'data') return value
  if (isRaw) return Buffer.from(value).toString('base64')
  const invalid = value.search(/[^A-Za-z0-9+/=]|=(?!=?$)/)
  if (invalid === -1 && value.length % 4 === 0) return value
  const at = invalid === -1 ? value.length - (value.length % 4) : invalid
  throw new Error(`error decoding input value: illegal base64 data at input byte ${at}`)
}
