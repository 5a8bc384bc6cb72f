/**
 * Background work of encryption at rest: polls KMS plugins for key rotation, re-encrypts values with stale
 * keys, and reloads the configuration file.
 */
import type { Platform } from '#/platform/platform.ts'
import type { EncryptingStore } from '../encryption.ts'
import type { ResourceCiphers } from './resource-ciphers.ts'

export interface EncryptionMaintenanceOptions {
  readonly platform: Platform
  readonly encryption: ResourceCiphers
  readonly store: EncryptingStore
  /** The configuration file and its current content; no reload when absent. */
  readonly file?: { readonly path: string; readonly configuration: string }
}

/** Must be called after all stored values have been read. Resolves when aborted. */
export async function runEncryptionMaintenance(
  options: EncryptionMaintenanceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { encryption, store, file } = options
  const changes = file ? followFile(options, file, signal) : Promise.resolve()
  await Promise.all([
    encryption.run(signal),
    store.hasStale ? rewrite(options, signal) : Promise.resolve(),
    changes,
  ])
}

/** Poll interval of the file. */
const fileCheckMs = 10_000

async function followFile(
  options: EncryptionMaintenanceOptions,
  { path, configuration }: NonNullable<EncryptionMaintenanceOptions['file']>,
  signal: AbortSignal,
): Promise<void> {
  const {
    platform: { clock, files, log },
    encryption,
  } = options
  let known = configuration
  while (!signal.aborted) {
    await clock.sleep(fileCheckMs, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const text = Buffer.from(await files.read(path)).toString()
      if (text === known) continue
      known = text
      await encryption.change(text, signal)
    } catch (error) {
      if (!signal.aborted)
        log.error('failed to reload encryption configuration, keeping the current one', { path, error })
      continue
    }
    log.warn('reloaded encryption configuration', { path })
    await rewrite(options, signal)
  }
}

/** Failures are retried only at the next start, because all values stay readable. */
async function rewrite(
  { platform: { log }, store }: EncryptionMaintenanceOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { rewritten, unreadable } = await store.reencryptStale(signal)
    if (rewritten > 0) log.warn('re-encrypted values with the current key', { rewritten })
    if (unreadable > 0) log.error('stored values could not be decrypted', { unreadable })
  } catch (error) {
    if (!signal.aborted) log.error('failed to re-encrypt values', { error })
  }
}
