import { resolve } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import type { Machine } from '../factory.ts'
import { readFileContent } from '../read-file-content.ts'

interface TemplateFile {
  readonly path: string
  /** For messages: `--template`. */
  readonly what: string
}

/** Reads the file of a template that the user named. */
export async function readTemplateFile(
  { platform, workingFolder }: Machine,
  { path, what }: TemplateFile,
): Promise<string> {
  try {
    const content = await readFileContent(platform.files, { path, absolute: resolve(workingFolder, path) })
    return Buffer.from(content).toString()
  } catch (error) {
    throw new Error(`error reading ${what} ${path}, ${messageOf(error)}`, { cause: error })
  }
}
