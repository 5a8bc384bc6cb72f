import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import type { Field, ListSchema, Schema, StructSchema } from '#/api/schema.ts'
import { quote } from '#/api/text/quote.ts'
import { readYaml } from '#/api/text/yaml.ts'
import { isObject } from '#/api/text/json-object.ts'

/** The content of a kuberc file, in version v1beta1. */
export interface Preference {
  readonly defaults: readonly CommandDefaults[]
  readonly aliases: readonly AliasOverride[]
  readonly credentialPluginPolicy?: string
  readonly credentialPluginAllowlist?: readonly AllowlistEntry[]
}

export interface CommandDefaults {
  /** `create configmap`. */
  readonly command: string
  readonly options: readonly CommandOptionDefault[]
}

export interface AliasOverride {
  readonly name: string
  readonly command: string
  readonly prependArgs?: readonly string[]
  readonly appendArgs?: readonly string[]
  readonly options?: readonly CommandOptionDefault[]
}

export interface CommandOptionDefault {
  /** Of a flag, without dashes. */
  readonly name: string
  readonly default: string
}

export interface AllowlistEntry {
  readonly name?: string
  readonly command?: string
}

export interface ReadPreference {
  readonly preference: Preference
  /** Unknown fields and duplicate keys, which are ignored. */
  readonly strictErrors: readonly string[]
}

const group = 'kubectl.config.k8s.io'
export const preferenceVersion = `${group}/v1beta1`

const fileBytesMax = 10_000_000

/**
 * The first usable preferences of a file, which may have one document for each version. Undefined if the file is
 * empty. Throws Error if none of its documents is usable.
 */
export function readPreference(content: Uint8Array, path: string): ReadPreference | undefined {
  const texts = Buffer.from(content.subarray(0, fileBytesMax))
    .toString()
    .split(/^---(?:[ \t].*)?$/m)
    .filter(text => text.trim() !== '')
  for (const text of texts) {
    const read = readDocument(text)
    if (read !== undefined) return read
  }
  if (texts.length === 0) return undefined
  throw new Error(`no valid preferences found in ${path}, use --v=5 to see details`)
}

function readDocument(text: string): ReadPreference | undefined {
  try {
    const { value, duplicateKeys } = readYaml(text, { maxBytes: fileBytesMax })
    if (!isObject(value) || value['kind'] !== 'Preference') return undefined
    const version = value['apiVersion']
    const schema =
      version === preferenceVersion ? v1beta1 : version === `${group}/v1alpha1` ? v1alpha1 : undefined
    if (schema === undefined) return undefined
    const { value: decoded, unknownFields } = decode(value, schema)
    const duplicates = duplicateKeys.map(
      ({ key, line }) => `  line ${line}: key ${quote(key)} already set in map`,
    )
    return {
      preference: schema === v1alpha1 ? fromAlpha(decoded) : withLists(decoded),
      strictErrors: [
        ...(duplicates.length > 0 ? [['yaml: unmarshal errors:', ...duplicates].join('\n')] : []),
        ...unknownFields.map(field => `unknown field ${quote(field)}`),
      ],
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return undefined
  }
}

interface AlphaOptions {
  readonly command?: string
  readonly flags?: readonly CommandOptionDefault[]
}

/** Version v1alpha1 has other field names. */
interface AlphaPreference {
  readonly overrides?: readonly AlphaOptions[]
  readonly aliases?: readonly (AlphaOptions & Partial<AliasOverride>)[]
}

function fromAlpha({ overrides = [], aliases = [] }: AlphaPreference): Preference {
  return withLists({
    defaults: overrides.map(({ command = '', flags = [] }) => ({ command, options: flags })),
    aliases: aliases.map(({ flags, name = '', command = '', ...alias }) => ({
      ...alias,
      name,
      command,
      ...(flags !== undefined && { options: flags }),
    })),
  })
}

/** Absent fields are empty. */
function withLists(decoded: DecodedPreference): Preference {
  const { defaults = [], aliases = [], credentialPluginPolicy, credentialPluginAllowlist } = decoded
  return {
    defaults: defaults.map(({ command = '', options }) => ({ command, options: withTexts(options) })),
    aliases: aliases.map(({ name = '', command = '', prependArgs, appendArgs, options }) => ({
      name,
      command,
      ...(prependArgs && { prependArgs }),
      ...(appendArgs && { appendArgs }),
      ...(options && { options: withTexts(options) }),
    })),
    ...(credentialPluginPolicy !== undefined && { credentialPluginPolicy }),
    ...(credentialPluginAllowlist !== undefined && { credentialPluginAllowlist }),
  }
}

interface DecodedPreference extends Partial<Omit<Preference, 'defaults' | 'aliases'>> {
  readonly defaults?: readonly Partial<CommandDefaults>[]
  readonly aliases?: readonly Partial<AliasOverride>[]
}

function withTexts(options: readonly Partial<CommandOptionDefault>[] = []): readonly CommandOptionDefault[] {
  return options.map(({ name = '', default: value = '' }) => ({ name, default: value }))
}

const text: Schema = { type: 'string' }

function struct(name: string, fields: Readonly<Record<string, Schema>>): StructSchema {
  const entries = Object.entries(fields).map(([field, schema]): [string, Field] => {
    return [field, { schema, required: false }]
  })
  return { type: 'struct', name, fields: new Map(entries), atomic: false, preserveUnknownFields: false }
}

function listOf(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}

const options = listOf(struct('CommandOptionDefault', { name: text, default: text }))
const argumentFields = { name: text, command: text, prependArgs: listOf(text), appendArgs: listOf(text) }

const v1alpha1 = struct('Preference', {
  apiVersion: text,
  kind: text,
  overrides: listOf(struct('CommandDefaults', { command: text, flags: options })),
  aliases: listOf(struct('AliasOverride', { ...argumentFields, flags: options })),
})

const v1beta1 = struct('Preference', {
  apiVersion: text,
  kind: text,
  defaults: listOf(struct('CommandDefaults', { command: text, options })),
  aliases: listOf(struct('AliasOverride', { ...argumentFields, options })),
  credentialPluginPolicy: text,
  credentialPluginAllowlist: listOf(struct('AllowlistEntry', { name: text, command: text })),
})
