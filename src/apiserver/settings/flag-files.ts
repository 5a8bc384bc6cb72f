/** Reads files named by flags. Errors contain the flag and the path. */
import { UsageError } from '#/base/flags.ts'
import { readWebhookKubeconfig, type WebhookTarget } from '#/kubeconfig/webhook-kubeconfig.ts'
import type { Platform } from '#/platform/platform.ts'
import type { apiServerFlags } from '../flags.ts'

type FlagName = keyof typeof apiServerFlags

/** Empty if the flag is not set. Throws UsageError. */
async function readText({ files }: Platform, flag: FlagName, path: string | undefined): Promise<string> {
  if (!path) return ''
  return naming(flag, path, async () => Buffer.from(await files.read(path)).toString())
}

/** Undefined if the flag is not set. Throws UsageError. */
export async function readFlagFile<T>(
  platform: Platform,
  { flag, path }: { readonly flag: FlagName; readonly path: string | undefined },
  parse: (text: string) => T,
): Promise<T | undefined> {
  if (!path) return undefined
  const text = await readText(platform, flag, path)
  return naming(flag, path, async () => parse(text))
}

/** Undefined if the flag is not set. Throws UsageError. */
export async function readFlagKubeconfig(
  platform: Platform,
  flag: FlagName,
  path: string | undefined,
): Promise<WebhookTarget | undefined> {
  return path ? naming(flag, path, () => readWebhookKubeconfig(platform, path)) : undefined
}

async function naming<T>(flag: FlagName, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new UsageError(`--${flag} ${path}: ${whyNot(error)}`, { cause: error })
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'is a directory'
  return error.message.trim().replaceAll(/\s*\n\s*/g, '; ')
}
