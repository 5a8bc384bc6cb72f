import { dirname, resolve } from 'node:path'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Factory } from '../factory.ts'
import { sorted } from '../printers/object-printer.ts'
import { describeFileError } from '../read-file-content.ts'
import { locateKuberc, type KubercLocation } from './locate-kuberc.ts'
import { preferenceVersion, readPreference, type Preference } from './preference.ts'

/** The file that `kuberc view` and `kuberc set` are about. */
export function kubercOf({ machine }: Factory, flag = ''): KubercLocation {
  const location = locateKuberc(flag, machine)
  if (location === undefined) throw new Error('KUBERC is disabled via KUBERC=off environment variable')
  return location
}

/** Undefined if there is no file. Throws Error if it cannot be used. */
export async function readKuberc({ machine }: Factory, path: string): Promise<Preference | undefined> {
  const { files } = machine.platform
  const absolute = resolve(machine.workingFolder, path)
  let content: Uint8Array
  try {
    if ((await files.stat(absolute)) === undefined) return undefined
    content = await files.read(absolute)
  } catch (error) {
    throw new Error(`error reading kuberc file: ${describeFileError('open', path, error)}`, { cause: error })
  }
  try {
    return readPreference(content, path)?.preference ?? { defaults: [], aliases: [] }
  } catch (error) {
    throw new Error(`error parsing kuberc file: ${messageOf(error)}`, { cause: error })
  }
}

/** In the order of the fields of the API. */
export function kubercDocument(preference: Preference): JsonObject {
  const { defaults, aliases, credentialPluginPolicy: policy, credentialPluginAllowlist: list } = preference
  const document = {
    kind: 'Preference',
    apiVersion: preferenceVersion,
    defaults,
    aliases,
    ...(policy && { credentialPluginPolicy: policy }),
    ...(list && { credentialPluginAllowlist: list }),
  }
  return document as unknown as JsonObject
}

export async function writeKuberc({ machine }: Factory, path: string, preference: Preference): Promise<void> {
  const { platform, streams, workingFolder } = machine
  const absolute = resolve(workingFolder, path)
  await platform.files.makeFolder(dirname(absolute))
  // Empty lists are null in the file.
  const { defaults, aliases } = preference
  const document: JsonValue = sorted({
    ...kubercDocument(preference),
    ...(defaults.length === 0 && { defaults: null }),
    ...(aliases.length === 0 && { aliases: null }),
  })
  await platform.files.write(absolute, stringifyYaml(document), { mode: 0o644 })
  streams.write(`Updated ${path}\n`)
}
