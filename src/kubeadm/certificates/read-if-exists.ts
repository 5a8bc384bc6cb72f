import type { Files } from '#/platform/platform.ts'

/** The text of a file, or undefined when it does not exist. */
export async function readIfExists(files: Files, path: string): Promise<string | undefined> {
  if ((await files.stat(path)) === undefined) return undefined
  return Buffer.from(await files.read(path)).toString()
}
