/**
 * The programs that a node with containers runs, the packages that have them, and the command that installs what is
 * missing. Shells and what every system has (sh, kill, gzip) are not listed. `tools/packages/run.txt` has the same
 * packages for set-up.
 */
export interface NodeProgram {
  readonly name: string
  readonly packages: Readonly<Record<System, string>>
  /** What does not work without it; without one the node does not work at all. */
  readonly feature?: string
}

type System = 'debian' | 'fedora' | 'arch' | 'alpine'

export const nodePrograms: readonly NodeProgram[] = [
  { name: 'containerd', packages: everywhere('containerd') },
  { name: 'runc', packages: everywhere('runc') },
  {
    name: 'cni/ptp',
    packages: {
      debian: 'containernetworking-plugins',
      fedora: 'containernetworking-plugins',
      arch: 'cni-plugins',
      alpine: 'cni-plugins',
    },
  },
  { name: 'nft', packages: everywhere('nftables') },
  { name: 'ip', packages: { ...everywhere('iproute2'), fedora: 'iproute' } },
  // Every pod with a service account token has a tmpfs.
  { name: 'mount', packages: { ...everywhere('util-linux'), debian: 'mount', fedora: 'util-linux-core' } },
  { name: 'rm', packages: everywhere('coreutils') },
  {
    name: 'iptables',
    packages: { ...everywhere('iptables'), fedora: 'iptables-nft' },
    feature: 'host ports of pods',
  },
  {
    name: 'conntrack',
    packages: { ...everywhere('conntrack-tools'), debian: 'conntrack' },
    feature: 'UDP to services whose endpoints change',
  },
  { name: 'mkfs.ext4', packages: everywhere('e2fsprogs'), feature: 'formatting block volumes' },
]

function everywhere(name: string): Readonly<Record<System, string>> {
  return { debian: name, fedora: name, arch: name, alpine: name }
}

/**
 * BusyBox has programs of the same names that lack flags which are used here: `ip -json`, `mount --make-rshared`,
 * `rm --one-file-system`.
 */
export function isBusyBox(realPath: string): boolean {
  return realPath.endsWith('/busybox')
}

/** How to install the programs: one line for a shell where the system's packages are known. */
export function installCommand(osRelease: string, missing: readonly NodeProgram[]): string {
  const system = systemOf(osRelease)
  if (system === undefined) return 'install them with the package manager of this system'
  const packages = [...new Set(missing.map(program => program.packages[system]))]
  return `${installers[system]} ${packages.join(' ')}`
}

const installers: Readonly<Record<System, string>> = {
  debian: 'apt-get install',
  fedora: 'dnf install',
  arch: 'pacman -S',
  alpine: 'apk add',
}

/** Of /etc/os-release. https://www.freedesktop.org/software/systemd/man/latest/os-release.html */
function systemOf(osRelease: string): System | undefined {
  const valueOf = (name: string): string =>
    new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(osRelease)?.[1]?.trim() ?? ''
  const ids = [valueOf('ID'), ...valueOf('ID_LIKE').split(/\s+/)]
  return ids.map(id => systemsById.get(id)).find(system => system !== undefined)
}

const systemsById: ReadonlyMap<string, System> = new Map([
  ['debian', 'debian'],
  ['ubuntu', 'debian'],
  ['fedora', 'fedora'],
  ['rhel', 'fedora'],
  ['centos', 'fedora'],
  ['arch', 'arch'],
  ['alpine', 'alpine'],
])
