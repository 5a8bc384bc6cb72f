import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a folder with its missing parents and returns the topmost one created, as `mkdir` does with `recursive`. That
 * one never returns where a file system answers ENOENT although the parent exists, such as /proc.
 */
export async function makeFolders(path: string, mode?: number): Promise<string | undefined> {
  try {
    return await makeOne(path, mode)
  } catch (error) {
    const parent = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error
    const topmostMade = await makeFolders(parent, mode)
    const made = await makeOne(path, mode)
    return topmostMade ?? made
  }
}

/** Undefined if the folder exists. */
async function makeOne(path: string, mode?: number): Promise<string | undefined> {
  try {
    await mkdir(path, { mode })
    return path
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
    return undefined
  }
}
