/** The key pair that signs and verifies service account tokens, in files. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { exportPrivateKey, generateKeys } from '#/base/elliptic-keys.ts'
import type { CertificateOptions } from './pair-files.ts'
import { readIfExists } from './read-if-exists.ts'

/** PEM encoded. */
export interface ServiceAccountKeys {
  readonly privateKey: string
  readonly publicKey: string
}

/** Never replaces a key, since all tokens in use are signed with it. Rejects when the key is unusable. */
export async function ensureServiceAccountKeys(
  options: CertificateOptions,
  folder: string,
): Promise<ServiceAccountKeys> {
  const {
    crypto,
    platform: { files, log },
  } = options
  const paths = { privateKey: join(folder, 'sa.key'), publicKey: join(folder, 'sa.pub') }
  const existing = await readIfExists(files, paths.privateKey)
  const publicBefore = await readIfExists(files, paths.publicKey)
  if (existing === undefined && publicBefore !== undefined) {
    const what = `${paths.publicKey} is there, but ${paths.privateKey} is not`
    throw new Error(`cannot sign service account tokens: ${what}`)
  }
  let privateKey = existing
  if (privateKey === undefined) {
    log.info('Creating service account key')
    privateKey = await exportPrivateKey(crypto, (await generateKeys(crypto)).privateKey)
    await files.write(paths.privateKey, privateKey, { mode: 0o600 })
  }
  const publicKey = publicPartOf(privateKey, paths.privateKey)
  if (publicKey !== publicBefore) await files.write(paths.publicKey, publicKey, { mode: 0o600 })
  return { privateKey, publicKey }
}

function publicPartOf(privateKey: string, path: string): string {
  try {
    return createPublicKey(createPrivateKey(privateKey)).export({ type: 'spki', format: 'pem' })
  } catch (cause) {
    throw new Error(`cannot read service account key ${path}`, { cause })
  }
}
