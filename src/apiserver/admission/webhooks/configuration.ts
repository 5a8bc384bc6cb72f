import { isAbsolute } from 'node:path'
import type { JsonValue } from '#/api/text/json-value.ts'
import { invalid } from '#/api/field-error.ts'
import {
  checkConfiguration,
  readConfiguration,
  text,
  versionedStruct,
  type ConfigurationType,
} from '../plugin-configuration.ts'
import { ConfigurationError } from '../plugin-context.ts'

interface Written {
  readonly kubeConfigFile?: string
  readonly staticManifestsDir?: string
}

/**
 * Path of the kubeconfig file with the credentials for webhooks; undefined if none is configured. Throws
 * ConfigurationError.
 */
export function kubeConfigFileOf(plugin: string, configuration: JsonValue | undefined): string | undefined {
  if (configuration === undefined) return undefined
  const { kubeConfigFile = '', staticManifestsDir = '' } = readConfiguration(configuration, {
    ...form,
    name: plugin,
  })
  if (staticManifestsDir !== '') {
    throw new ConfigurationError(
      `static webhook manifests dir ${JSON.stringify(staticManifestsDir)} configured ` +
        'but ManifestBasedAdmissionControlConfig feature gate is not enabled',
    )
  }
  if (kubeConfigFile === '') return undefined
  const isRight = isAbsolute(kubeConfigFile)
  checkConfiguration(
    plugin,
    isRight ? [] : [invalid('kubeConfigFile', kubeConfigFile, 'must be an absolute file path')],
  )
  return kubeConfigFile
}

const form: Omit<ConfigurationType<Written>, 'name'> = {
  kind: 'WebhookAdmissionConfiguration',
  versions: ['apiserver.config.k8s.io/v1'],
  schema: versionedStruct('WebhookAdmissionConfiguration', {
    kubeConfigFile: text,
    staticManifestsDir: text,
  }),
}
