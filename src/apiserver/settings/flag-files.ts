/** Reads files named by flags. Errors contain the flag and the path. */
import { UsageError } from '#/base/flags.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'
import type { Files } from '#/platform/platform.ts'
import type { apiServerFlags } from '../flags.ts'

export interface FileAccess {
  readonly files: Files
  /** Reads the server of a kubeconfig file. Rejects with an Error that describes the problem. */
  readonly readKubeconfig: (path: string) => Promise<Remote>
}

/** Address and credentials of an external HTTP server. */
export interface Remote {
  readonly url: string
  readonly tls?: HttpClientTls
  readonly headers?: Readonly<Record<string, string>>
}

type FlagName = keyof typeof apiServerFlags

/** Empty if the flag is not set. Throws UsageError. */
async function readText(
  { files }: Pick<FileAccess, 'files'>,
  flag: FlagName,
  path: string | undefined,
): Promise<string> {
  if (!path) return ''
  return naming(flag, path, async () => Buffer.from(await files.read(path)).toString())
}

/** Undefined if the flag is not set. Throws UsageError. */
export async function readFlagFile<T>(
  access: Pick<FileAccess, 'files'>,
  { flag, path }: { readonly flag: FlagName; readonly path: string | undefined },
  parse: (text: string) => T,
): Promise<T | undefined> {
  if (!path) return undefined
  const text = await readText(access, flag, path)
  return naming(flag, path, async () => parse(text))
}

/** Undefined if the flag is not set. Throws UsageError. */
export async function readFlagKubeconfig(
  { readKubeconfig }: FileAccess,
  flag: FlagName,
  path: string | undefined,
): Promise<Remote | undefined> {
  return path ? naming(flag, path, () => readKubeconfig(path)) : undefined
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
