/**
 * Checks if this machine can run containers as a node; otherwise reports what is missing and how to install
 * it.
 */
import type { Linux } from '#/platform/linux.ts'
import type { Files, Platform } from '#/platform/platform.ts'
import { installCommand, isBusyBox, nodePrograms, type NodeProgram } from './node-programs.ts'

type Machine = Pick<Linux, 'machine' | 'files'>

/** One line; undefined when containers can be run. */
export async function checkContainerPreflight(
  { files }: Pick<Platform, 'files'>,
  linux: Machine | undefined,
): Promise<string | undefined> {
  if (linux === undefined) return 'requires Linux'
  if (!linux.machine.isRoot) return 'requires root (sudo k8ts up)'
  const required = nodePrograms.filter(({ feature }) => feature === undefined)
  const missing = await missingOf(required, linux)
  if (missing.length === 0) return undefined
  const names = missing.map(({ name }) => name)
  return `missing ${names.join(', ')}: ${installCommand(await osRelease(files), missing)}`
}

/** One line about what does not work on a node that runs containers; undefined when everything does. */
export async function missingFeatures(
  { files }: Pick<Platform, 'files'>,
  linux: Machine,
): Promise<string | undefined> {
  const missing = await missingOf(
    nodePrograms.filter(({ feature }) => feature !== undefined),
    linux,
  )
  if (missing.length === 0) return undefined
  const lacks = missing.map(({ name, feature }) => `${name} (${feature})`)
  return `not installed: ${lacks.join(', ')}: ${installCommand(await osRelease(files), missing)}`
}

async function missingOf(
  programs: readonly NodeProgram[],
  linux: Pick<Linux, 'files'>,
): Promise<readonly NodeProgram[]> {
  const isThere = await Promise.all(programs.map(({ name }) => isInstalled(name, linux.files)))
  return programs.filter((_, index) => !isThere[index])
}

async function isInstalled(name: string, files: Pick<Linux['files'], 'realPath'>): Promise<boolean> {
  const plugin = /^cni\/(.*)$/.exec(name)?.[1]
  const paths = (plugin === undefined ? programFolders : pluginFolders).map(
    folder => `${folder}/${plugin ?? name}`,
  )
  const found = await Promise.all(paths.map(path => files.realPath(path).catch(() => undefined)))
  return found.some(path => path !== undefined && !isBusyBox(path))
}

async function osRelease(files: Files): Promise<string> {
  for (const path of ['/etc/os-release', '/usr/lib/os-release']) {
    if (await files.stat(path)) return Buffer.from(await files.read(path)).toString()
  }
  return ''
}

const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/** Of Debian and Arch, of Fedora and Alpine, and of the plugins' own releases. */
const pluginFolders = ['/usr/lib/cni', '/usr/libexec/cni', '/opt/cni/bin']

/** Where the CNI plugins are. */
export async function cniPluginFolder({ files }: Pick<Platform, 'files'>): Promise<string> {
  for (const folder of pluginFolders) if (await files.stat(`${folder}/ptp`)) return folder
  throw new Error(`CNI plugin ptp not found in ${pluginFolders.join(', ')}`)
}
