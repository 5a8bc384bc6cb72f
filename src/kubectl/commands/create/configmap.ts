import { checkConfigMapKey } from '#/api/names.ts'
import { quote } from '#/api/text/quote.ts'
import { defineCommand } from '../../command.ts'
import {
  dataFlags,
  decodeUtf8,
  parseLiteral,
  readEnvFile,
  readFileSource,
  statOf,
  type DataEntry,
} from '../../create/data-sources.ts'
import { sortedMap } from '../../create/generated-object.ts'
import { configMapHash, type ConfigMapData } from '../../create/name-hash.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'

export const command = defineCommand({
  usage:
    'configmap NAME [--from-file=[key=]source] [--from-literal=key1=value1] [--dry-run=server|client|none]',
  description: `Creates a config map from files, folders and literal values.

The default of the key for a file is its name. Of a folder, each file whose name is a valid key gives an entry;
subfolders and symbolic links are skipped.`,
  examples: `  # All files of a folder
  kubectl create configmap settings --from-file=path/to/folder

  # Files with other keys
  kubectl create configmap settings --from-file=ssh-key=path/to/id --from-file=path/to/other

  # Literal values
  kubectl create configmap settings --from-literal=color=blue --from-literal=size=10

  # Lines KEY=VALUE of a file
  kubectl create configmap settings --from-env-file=path/to/settings.env`,
  flags: { ...createFlags, ...dataFlags },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { name } = creator
    const { flags, factory } = invocation
    const { 'from-env-file': envFiles = [], 'from-file': files = [], 'from-literal': literals = [] } = flags
    if (envFiles.length > 0 && files.length + literals.length > 0) {
      throw new Error('from-env-file cannot be combined with from-file or from-literal')
    }
    const content = new ConfigMapContent(name)
    for (const source of files) content.add(await readFileSource(factory.machine, source))
    content.add(literals.map(parseLiteral))
    for (const path of envFiles) {
      const { isFolder } = await statOf(factory.machine, path)
      if (isFolder) throw new Error('env config file cannot be a directory')
      content.add(await readEnvFile(factory.machine, path))
    }
    const { data, binaryData } = content.sorted()
    const hash = flags['append-hash'] ? `-${configMapHash(name, { data, binaryData })}` : ''
    await creator.create({
      resource: { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', scope: 'Namespaced' },
      failure: 'failed to create configmap:',
      content: {
        metadata: { name: `${name}${hash}` },
        ...(Object.keys(data).length > 0 && { data }),
        ...(Object.keys(binaryData).length > 0 && { binaryData }),
      },
    })
  },
})

class ConfigMapContent {
  readonly #name: string
  readonly #data = new Map<string, string>()
  readonly #binaryData = new Map<string, string>()

  constructor(name: string) {
    this.#name = name
  }

  add(entries: readonly DataEntry[]): void {
    for (const { key, value } of entries) {
      this.#requireNewKey(key)
      const text = decodeUtf8(value)
      if (text === undefined) this.#binaryData.set(key, Buffer.from(value).toString('base64'))
      else this.#data.set(key, text)
    }
  }

  #requireNewKey(key: string): void {
    const messages = checkConfigMapKey(key)
    if (messages.length > 0) {
      throw new Error(`${quote(key)} is not a valid key name for a ConfigMap: ${messages.join(',')}`)
    }
    const place = this.#data.has(key) ? 'Data' : 'BinaryData'
    if (!this.#data.has(key) && !this.#binaryData.has(key)) return
    const map = `${place} for ConfigMap ${quote(this.#name)}`
    throw new Error(`cannot add key ${quote(key)}, another key by that name already exists in ${map}`)
  }

  sorted(): ConfigMapData {
    return {
      data: sortedMap(Object.fromEntries(this.#data)),
      binaryData: sortedMap(Object.fromEntries(this.#binaryData)),
    }
  }
}
