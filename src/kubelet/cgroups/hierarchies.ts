/** Where the kernel's control groups are: a tree for each controller in version 1, one for all in version 2. */

export interface Hierarchy {
  /** `/sys/fs/cgroup/cpu,cpuacct`. */
  readonly folder: string
  /** `cpu`, `memory`; a tree that only names groups has none. */
  readonly controllers: ReadonlySet<string>
}

/** Of version 1, as /proc/self/mountinfo has them. Of a controller that is mounted twice the shorter path counts. */
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

/** A tree of version 2 beside the others controls nothing, but runtimes put containers into it too. */
const unified = 'unified'

function isNamed(option: string): boolean {
  return known.has(option) || option.startsWith('name=')
}

/** Options beside these say how the tree is mounted. */
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
