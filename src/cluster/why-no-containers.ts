/** Whether this machine can be a node that runs containers; if not, what is missing and how to get it. */
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'

export async function whyNoContainers(
  { files }: Platform,
  linux: Pick<Linux, 'machine'> | undefined,
): Promise<string | undefined> {
  if (linux === undefined) return 'that needs Linux'
  if (!linux.machine.isRoot) return 'that needs root (sudo k8ts up)'
  const missing: string[] = []
  for (const { package: name, paths } of needed) {
    const found = await Promise.all(paths.map(path => files.stat(path)))
    if (found.every(status => status === undefined)) missing.push(name)
  }
  if (missing.length === 0) return undefined
  return `missing ${missing.join(', ')} (apt-get install ${missing.join(' ')}; npm start does it on Debian)`
}

/** Debian's, and that of the plugins' own releases. */
const pluginFolders = ['/usr/lib/cni', '/opt/cni/bin']

/** Where the plugins are that give pods their network. */
export async function cniPluginFolder({ files }: Pick<Platform, 'files'>): Promise<string> {
  for (const folder of pluginFolders) if (await files.stat(`${folder}/ptp`)) return folder
  throw new Error(`the network plugin ptp is neither in ${pluginFolders.join(' nor in ')}`)
}

/** Debian's packages, and where others put the same. */
const needed: readonly { readonly package: string; readonly paths: readonly string[] }[] = [
  { package: 'containerd', paths: programs('containerd') },
  { package: 'runc', paths: programs('runc') },
  { package: 'containernetworking-plugins', paths: pluginFolders.map(folder => `${folder}/ptp`) },
  { package: 'nftables', paths: programs('nft') },
  { package: 'iproute2', paths: programs('ip') },
]

function programs(name: string): readonly string[] {
  return ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].map(
    folder => `${folder}/${name}`,
  )
}
