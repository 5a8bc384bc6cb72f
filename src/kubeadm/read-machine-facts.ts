/** Reads the facts of this machine that the preflight checks decide about. */
import type { Linux } from '#/platform/linux.ts'
import type { Network, Platform } from '#/platform/platform.ts'
import {
  forwardingSysctl,
  type MachineFacts,
  type PreflightRequirements,
  type RequiredProgram,
} from './preflight.ts'

export interface MachineFactsOptions {
  readonly platform: Pick<Platform, 'files' | 'network'>
  readonly linux: Pick<Linux, 'machine' | 'files'>
  readonly requirements: PreflightRequirements
  readonly kubeletVersion: string
}

export async function readMachineFacts(options: MachineFactsOptions): Promise<MachineFacts> {
  const {
    platform: { files, network },
    linux,
    requirements: { ports, emptyFolders, absentFiles, existingFiles, programs, folder },
    kubeletVersion,
  } = options
  const { machine } = linux
  const existingPaths: string[] = []
  for (const path of [...absentFiles, ...existingFiles]) if (await files.stat(path)) existingPaths.push(path)
  const filledFolders: string[] = []
  for (const path of emptyFolders)
    if ((await files.stat(path)) && (await files.list(path)).length > 0) filledFolders.push(path)
  const missingPrograms: RequiredProgram[] = []
  for (const program of programs) if (!(await isInstalled(linux, program.name))) missingPrograms.push(program)
  const { availableBytes } = await linux.files.space(await existingParent(files, folder))
  return {
    isRoot: machine.isRoot,
    processors: machine.processors,
    memoryBytes: machine.memoryBytes,
    swapBytes: machine.swapBytes,
    kernelVersion: machine.kernelVersion,
    cgroupVersion: machine.cgroupVersion,
    hostname: machine.hostname,
    freeBytes: availableBytes,
    takenPorts: await findTakenPorts(network, ports),
    existingPaths,
    filledFolders,
    missingPrograms,
    sysctls: { [forwardingSysctl]: await readSysctl(files, forwardingSysctl) },
    kubeletVersion,
  }
}

export async function findTakenPorts(network: Network, ports: readonly number[]): Promise<readonly number[]> {
  const taken: number[] = []
  for (const port of ports) if (await isTaken(network, port)) taken.push(port)
  return taken
}

async function isTaken(network: Network, port: number): Promise<boolean> {
  try {
    await using _ = await network.listen({ host: '0.0.0.0', port }, connection => connection.destroy())
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return true
    throw error
  }
}

const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
const pluginFolders = ['/usr/lib/cni', '/usr/libexec/cni', '/opt/cni/bin']

async function isInstalled({ files }: Pick<Linux, 'files'>, name: string): Promise<boolean> {
  const plugin = /^cni\/(.*)$/.exec(name)?.[1]
  for (const folder of plugin === undefined ? programFolders : pluginFolders)
    if (await files.stat(`${folder}/${plugin ?? name}`)) return true
  return false
}

async function readSysctl(files: Platform['files'], path: string): Promise<string> {
  if ((await files.stat(path)) === undefined) return ''
  return Buffer.from(await files.read(path))
    .toString()
    .trim()
}

/** The folder itself may not exist yet. */
async function existingParent(files: Platform['files'], path: string): Promise<string> {
  for (let each = path; each !== '/' && each !== ''; each = each.slice(0, each.lastIndexOf('/')))
    if (await files.stat(each)) return each
  return '/'
}
