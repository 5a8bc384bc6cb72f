import type { JsonValue } from '#/api/text/json-value.ts'
import { readConfiguration, text, versionedStruct } from '../plugin-configuration.ts'
import { ConfigurationError } from '../plugin-context.ts'

/** Validates the configuration of a policy plugin. Throws ConfigurationError. */
export function checkPolicyConfiguration(plugin: string, configuration: JsonValue | undefined): void {
  if (configuration === undefined) return
  const kind = `${plugin}Configuration`
  const { staticManifestsDir = '' } = readConfiguration<{ readonly staticManifestsDir?: string }>(
    configuration,
    {
      name: plugin,
      kind,
      versions: ['apiserver.config.k8s.io/v1'],
      schema: versionedStruct(kind, { staticManifestsDir: text }),
    },
  )
  if (staticManifestsDir === '') return
  throw new ConfigurationError(
    `static policy manifests dir ${JSON.stringify(staticManifestsDir)} configured ` +
      'but ManifestBasedAdmissionControlConfig feature gate is not enabled',
  )
}
