import { resolve } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import type { Machine } from '../factory.ts'
import { kubercFlag, locateKuberc, type KubercLocation } from './locate-kuberc.ts'
import type { Preference } from './preference.ts'

/**
 * The preferences for a command line. Undefined without a file. A default file that cannot be used is reported and
 * ignored; for others Error is thrown.
 */
export async function loadPreference(
  words: readonly string[],
  machine: Machine,
): Promise<Preference | undefined> {
  const location = locationOf(words, machine)
  if (location === undefined) return undefined
  const { path, isExplicit } = location
  const absolute = resolve(machine.workingFolder, path)
  if (!isExplicit && (await machine.platform.files.stat(absolute)) === undefined) return undefined
  try {
    return await read(machine, { path, absolute })
  } catch (error) {
    if (isExplicit) throw new Error(`kuberc error kuberc: ${messageOf(error)}`, { cause: error })
    machine.streams.stderr.write(`kuberc: no preferences loaded from ${path}: ${messageOf(error)}\n`)
    return undefined
  }
}

function locationOf(words: readonly string[], machine: Machine): KubercLocation | undefined {
  const flag = kubercFlag(words)
  try {
    return locateKuberc(flag, machine)
  } catch (error) {
    throw new Error(`kuberc error ${messageOf(error)}`, { cause: error })
  }
}

interface KubercPath {
  /** As given, for messages. */
  readonly path: string
  readonly absolute: string
}

async function read(
  { platform, streams }: Machine,
  { path, absolute }: KubercPath,
): Promise<Preference | undefined> {
  const [{ readFileContent }, { readPreference }] = await Promise.all([
    import('../read-file-content.ts'),
    import('./preference.ts'),
  ])
  const found = readPreference(await readFileContent(platform.files, { path, absolute }), path)
  if (found !== undefined && found.strictErrors.length > 0) {
    const errors = found.strictErrors.join(', ')
    streams.stderr.write(
      `kuberc: ignoring strict decoding error in ${path}: strict decoding error: ${errors}\n`,
    )
  }
  return found?.preference
}
