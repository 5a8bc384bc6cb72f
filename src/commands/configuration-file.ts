/** Reads the file of `--config`. */
import { readConfiguration, type Configuration } from '#/kubeadm/configuration.ts'
import type { Platform } from '#/platform/platform.ts'

/** The Kubernetes release of the served API. */
export const kubeadmVersion = 'v1.36'

export async function readConfigurationFile(platform: Platform, path: string): Promise<Configuration> {
  if ((await platform.files.stat(path))?.isFile !== true)
    throw new Error(`cannot read configuration file ${path}: file not found`)
  const text = Buffer.from(await platform.files.read(path)).toString()
  return readConfiguration(text, {
    source: `configuration file ${path}`,
    minor: kubeadmVersion.replace('v1.', ''),
  })
}
