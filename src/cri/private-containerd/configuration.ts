/** What a private containerd is to be like. Paths are absolute. */
export interface ContainerdSettings {
  readonly version: ContainerdVersion
  readonly folder: string
  readonly socketPath: string
  readonly cni: { readonly binFolder: string; readonly configFolder: string }
  readonly sandboxImage: string
  readonly registryFolder: string
  readonly snapshotter: 'overlayfs' | 'native'
  /** The kernel lets us lower the score by which processes are chosen when memory runs out. */
  readonly canLowerOomScore: boolean
}

export interface ContainerdVersion {
  readonly major: number
  readonly minor: number
}

/** Reads what `containerd --version` says. */
export function containerdVersionOf(text: string): ContainerdVersion | undefined {
  const found = /\sv?(\d+)\.(\d+)\./.exec(text)
  return found ? { major: Number(found[1]), minor: Number(found[2]) } : undefined
}

/** The configuration file. From 2.0 on its format is version 3, in which the CRI plugin is three plugins. */
export function containerdConfiguration(settings: ContainerdSettings): string {
  const sections = settings.version.major >= 2 ? sectionsOfVersion3(settings) : sectionsOfVersion2(settings)
  return sections.map(([name, values]) => section(name, values)).join('\n')
}

type Value = string | number | boolean | readonly string[]
type Section = readonly [name: string, values: Readonly<Record<string, Value>>]

function sectionsOfVersion2(settings: ContainerdSettings): Section[] {
  const cri = plugin('io.containerd.grpc.v1.cri')
  const { containerd, runc, options, cni, registry, streaming, runtime } = parts(settings)
  return [
    ['', top(settings, 2)],
    ...server(settings),
    [cri, { sandbox_image: settings.sandboxImage, ...streaming, ...runtime }],
    [`${cri}.containerd`, { snapshotter: settings.snapshotter, ...containerd }],
    [`${cri}.containerd.runtimes.runc`, runc],
    [`${cri}.containerd.runtimes.runc.options`, options],
    [`${cri}.cni`, { bin_dir: settings.cni.binFolder, ...cni }],
    [`${cri}.registry`, registry],
  ]
}

function sectionsOfVersion3(settings: ContainerdSettings): Section[] {
  const images = plugin('io.containerd.cri.v1.images')
  const cri = plugin('io.containerd.cri.v1.runtime')
  const { containerd, runc, options, cni, registry, streaming, runtime } = parts(settings)
  const { binFolder } = settings.cni
  const hasManyFolders = settings.version.major > 2 || settings.version.minor >= 1
  return [
    ['', top(settings, 3)],
    ...server(settings),
    [images, { snapshotter: settings.snapshotter }],
    [`${images}.pinned_images`, { sandbox: settings.sandboxImage }],
    [`${images}.registry`, registry],
    [cri, runtime],
    [`${cri}.containerd`, containerd],
    [`${cri}.containerd.runtimes.runc`, runc],
    [`${cri}.containerd.runtimes.runc.options`, options],
    [`${cri}.cni`, { ...(hasManyFolders ? { bin_dirs: [binFolder] } : { bin_dir: binFolder }), ...cni }],
    [plugin('io.containerd.grpc.v1.cri'), streaming],
    // Plugins of other people would be called for each container, from a folder that all containerds share.
    [plugin('io.containerd.nri.v1.nri'), { disable: true }],
  ]
}

function top({ folder }: ContainerdSettings, version: number): Section[1] {
  return {
    version,
    root: `${folder}/root`,
    state: `${folder}/state`,
    oom_score: 0,
    disabled_plugins: unusedPlugins,
  }
}

/** One makes a folder in /opt, the others complain about filesystems that are not there. */
const unusedPlugins = [
  'io.containerd.internal.v1.opt',
  ...['aufs', 'btrfs', 'devmapper', 'zfs'].map(name => `io.containerd.snapshotter.v1.${name}`),
]

function server({ socketPath }: ContainerdSettings): Section[] {
  return [
    ['grpc', { address: socketPath }],
    ['ttrpc', { address: `${socketPath}.ttrpc` }],
  ]
}

/** What is the same in both versions, though in other places. */
function parts({ folder, cni, registryFolder, canLowerOomScore }: ContainerdSettings) {
  return {
    containerd: { default_runtime_name: 'runc' },
    runc: { runtime_type: 'io.containerd.runc.v2' },
    // Beside others' by default, where what is left of us when all of us is killed would be nobody's.
    options: { SystemdCgroup: false, Root: `${folder}/runc` },
    cni: { conf_dir: cni.configFolder, max_conf_num: 1 },
    registry: { config_path: registryFolder },
    streaming: { stream_server_address: '127.0.0.1', stream_server_port: '0' },
    runtime: {
      // Where others keep theirs, `ip netns add` would change the mounts so that sandboxes cannot be removed.
      netns_mounts_under_state_dir: true,
      restrict_oom_score_adj: !canLowerOomScore,
      disable_hugetlb_controller: false,
      enable_unprivileged_ports: true,
      enable_unprivileged_icmp: true,
    },
  }
}

function plugin(name: string): string {
  return `plugins.${JSON.stringify(name)}`
}

function section(name: string, values: Section[1]): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  return (name === '' ? '' : `[${name}]\n`) + lines.join('')
}
