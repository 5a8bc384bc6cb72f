/** Reads a file that the user named, with the error texts that scripts know. */
import type { Files } from '#/platform/platform.ts'

export interface NamedFile {
  /** As given, for messages. */
  readonly path: string
  readonly absolute: string
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
}

/** Throws Error: `open ca.crt: no such file or directory`. */
export async function readFileContent(files: Files, { path, absolute }: NamedFile): Promise<Uint8Array> {
  try {
    return await files.read(absolute)
  } catch (error) {
    throw new Error(describeFileError('open', path, error), { cause: error })
  }
}

/** `open ca.crt: no such file or directory`. */
export function describeFileError(operation: string, path: string, error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return `${code === 'EISDIR' ? 'read' : operation} ${path}: ${reasons[String(code)] ?? String(code)}`
}
