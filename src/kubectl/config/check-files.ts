import type { ConnectionSettings } from '#/kubeconfig/connection-settings.ts'
import type { ContentSource } from '#/kubeconfig/credentials.ts'
import { InvalidKubeconfigError } from '#/kubeconfig/kubeconfig-error.ts'
import type { Platform } from '#/platform/platform.ts'
import { describeFileError, readFileContent } from '../read-file-content.ts'

interface EntryNames {
  readonly clusterName: string
  readonly userName: string
}

/** Throws InvalidKubeconfigError for files of certificates that cannot be read, Error for the file of a token. */
export async function checkFiles(
  platform: Platform,
  { ca, user, server }: ConnectionSettings,
  { clusterName, userName }: EntryNames,
): Promise<void> {
  const { certificate, token } = user
  const problems = await Promise.all([
    problemOf(platform, ca, { what: 'certificate-authority', entry: clusterName }),
    problemOf(platform, certificate?.cert, { what: 'client-cert', entry: userName }),
    problemOf(platform, certificate?.key, { what: 'client-key', entry: userName }),
  ])
  const found = problems.filter(problem => problem !== undefined)
  if (found.length > 0) throw new InvalidKubeconfigError(found)
  if (token !== undefined && 'file' in token && server.startsWith('https:')) {
    await readFileContent(platform.files, { path: token.file, absolute: token.file })
  }
}

interface FileUse {
  readonly what: string
  /** Name of the cluster or user. */
  readonly entry: string
}

async function problemOf(
  { files }: Platform,
  source: ContentSource | undefined,
  { what, entry }: FileUse,
): Promise<string | undefined> {
  if (source === undefined || !('file' in source)) return undefined
  try {
    await files.read(source.file)
    return undefined
  } catch (error) {
    return `unable to read ${what} ${source.file} for ${entry} due to ${describeFileError('open', source.file, error)}`
  }
}
