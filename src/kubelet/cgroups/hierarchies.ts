/** cgroup hierarchies: one per controller (or group of controllers) in v1, a single one in v2. */

export interface Hierarchy {
  /** Such as `/sys/fs/cgroup/cpu,cpuacct`. */
  readonly folder: string
  /** Such as `cpu` and `memory`; empty for named hierarchies. */
  readonly controllers: ReadonlySet<string>
}

/**
 * Parses the cgroup v1 hierarchies from /proc/self/mountinfo. If a controller is mounted twice, the shorter
 * path wins.
 */
export function hierarchiesOf(mountinfo: string): readonly Hierarchy[] {
  const found = new Map<string, Hierarchy>()
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ', 2)
    const [, , , , path = ''] = left.split(' ')
    const [type, , options = ''] = right.split(' ')
    if (type !== 'cgroup' && type !== 'cgroup2') continue
    const names = type === 'cgroup2' ? [unified] : options.split(',').filter(isNamed)
    const key = names.sort().join(',')
    if (names.length === 0 || (found.get(key)?.folder.length ?? Infinity) <= path.length) continue
    found.set(key, { folder: unescaped(path), controllers: new Set(names.filter(name => known.has(name))) })
  }
  return [...found.values()]
}

/** In hybrid mode the v2 hierarchy has no controllers, but runtimes put containers into it too. */
const unified = 'unified'

function isNamed(option: string): boolean {
  return known.has(option) || option.startsWith('name=')
}

/** Other mount options are not controllers. */
const known: ReadonlySet<string> = new Set([
  'blkio',
  'cpu',
  'cpuacct',
  'cpuset',
  'devices',
  'freezer',
  'hugetlb',
  'memory',
  'misc',
  'net_cls',
  'net_prio',
  'perf_event',
  'pids',
  'rdma',
])

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
