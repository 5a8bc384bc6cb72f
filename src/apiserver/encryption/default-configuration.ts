/** Default encryption configuration: secrets are encrypted with a key generated at cluster creation. */
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { Platform } from '#/platform/platform.ts'

/** Reads the configuration file; creates it with a new key if it is missing. */
export async function ensureEncryptionConfiguration(
  { files, random }: Platform,
  path: string,
): Promise<string> {
  try {
    return Buffer.from(await files.read(path)).toString()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secret = Buffer.from(random.bytes('encryption key', keyBytes)).toString('base64')
  const configuration = stringifyYaml({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        // `identity` allows reading secrets stored before the key existed.
        providers: [{ aesgcm: { keys: [{ name: 'key1', secret }] } }, { identity: {} }],
      },
    ],
  })
  await files.write(path, configuration, { mode: 0o600 })
  return configuration
}

const keyBytes = 32
