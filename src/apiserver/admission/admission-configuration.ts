/** The AdmissionConfiguration file, which configures each plugin inline or by the path of a separate file. */
import { dirname, resolve } from 'node:path'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import type { Files } from '#/platform/platform.ts'
import {
  listOf,
  readConfiguration,
  struct,
  text,
  versionedStruct,
  type ConfigurationType,
} from './plugin-configuration.ts'
import { ConfigurationError } from './plugin-context.ts'

/** Configuration by plugin name. Throws ConfigurationError. */
export async function readAdmissionConfiguration(
  files: Files,
  path: string,
): Promise<ReadonlyMap<string, JsonValue>> {
  const value = await readFile(files, path)
  if (isOldForm(value))
    return new Map([
      ['ImagePolicyWebhook', value],
      ['PodNodeSelector', value],
    ])
  const { plugins = [] } = readConfiguration(value, form)
  const configurations = new Map<string, JsonValue>()
  for (const { name = '', path: own, configuration } of plugins) {
    if (configurations.has(name)) continue
    if (configuration !== undefined) configurations.set(name, configuration)
    else if (own) configurations.set(name, await readFile(files, resolve(dirname(path), own)))
  }
  return configurations
}

interface PluginEntry {
  readonly name?: string
  /** Relative to the directory of the AdmissionConfiguration file. */
  readonly path?: string
  /** Takes precedence over `path`. */
  readonly configuration?: JsonValue
}

const form: ConfigurationType<{ readonly plugins?: readonly PluginEntry[] }> = {
  name: 'admission',
  kind: 'AdmissionConfiguration',
  versions: ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'],
  schema: versionedStruct('AdmissionConfiguration', {
    plugins: listOf(
      struct('AdmissionPluginConfiguration', { name: text, path: text, configuration: { type: 'any' } }),
    ),
  }),
}

/**
 * The legacy format: the configuration of ImagePolicyWebhook or PodNodeSelector without an
 * AdmissionConfiguration around it.
 */
function isOldForm(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.hasOwn(value, 'kind'))
    return false
  return Object.hasOwn(value, 'imagePolicy') || Object.hasOwn(value, 'podNodeSelectorPluginConfig')
}

async function readFile(files: Files, path: string): Promise<JsonValue> {
  try {
    return parseYaml(await files.read(path))
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw new ConfigurationError(`cannot read the admission configuration ${path}: ${reason}`, {
      cause: error,
    })
  }
}
