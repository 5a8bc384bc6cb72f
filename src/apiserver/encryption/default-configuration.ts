/** Secrets are encrypted without anybody having to ask for it, with a key that is made when a cluster is. */
import { stringifyYaml } from '#/api/stringify-yaml.ts'
import type { Platform } from '#/platform/platform.ts'

/** The configuration in the file, which is made, with a new key, when it is missing. */
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
        // Secrets of a cluster that is older than its key can be read as they are.
        providers: [{ aesgcm: { keys: [{ name: 'key1', secret }] } }, { identity: {} }],
      },
    ],
  })
  await files.write(path, configuration, { mode: 0o600 })
  return configuration
}

const keyBytes = 32
