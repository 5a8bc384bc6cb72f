/** Settings of a private containerd. Paths are absolute. */
export interface ContainerdSettings {
  readonly version: ContainerdVersion
  readonly folder: string
  readonly socketPath: string
  readonly cni: { readonly binFolder: string; readonly configFolder: string }
  readonly sandboxImage: string
  readonly registryFolder: string
  readonly snapshotter: 'overlayfs' | 'native'
  /** False if the kernel does not permit lowering `oom_score_adj`. */
  readonly canLowerOomScore: boolean
}

export interface ContainerdVersion {
  readonly major: number
  readonly minor: number
}

/** Parses the output of `containerd --version`. */
export function containerdVersionOf(text: string): ContainerdVersion | undefined {
  const found = /\sv?(\d+)\.(\d+)\./.exec(text)
  return found ? { major: Number(found[1]), minor: Number(found[2]) } : undefined
}

/**
 * Renders the configuration file. containerd 2.0 and newer use version 3, which splits the CRI plugin into
 * three.
 */
export function containerdConfiguration(settings: ContainerdSettings): string {
  const sections = settings.version.major >= 2 ? sectionsOfVersion3(settings) : sectionsOfVersion2(settings)
  return sections.map(([name, values]) => section(name, values)).join('\n')
}

export function configurationPath(folder: string): string {
  return `${folder}/containerd.toml`
}

/** State directory of runc (`--root`) for the containers of the shims; each has a directory named by its id. */
export function runcStateFolder(folder: string): string {
  return `${runcRoot(folder)}/k8s.io`
}

/** The shim appends containerd's namespace. */
function runcRoot(folder: string): string {
  return `${folder}/runc`
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
    // NRI plugins are loaded from a directory shared by all containerd instances and would be called for our
    // containers.
    [plugin('io.containerd.nri.v1.nri'), { disable: true }],
  ]
}

/** As upstream for the kubelet and the runtime; containerd gives its shims one more. */
const oomScore = -999

function top({ folder, canLowerOomScore }: ContainerdSettings, version: number): Section[1] {
  return {
    version,
    root: `${folder}/root`,
    state: `${folder}/state`,
    oom_score: canLowerOomScore ? oomScore : 0,
    disabled_plugins: unusedPlugins,
  }
}

/** `opt` creates a directory in /opt; the snapshotters log errors about missing filesystems. */
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

/** Values common to both versions, at different places. */
function parts({ folder, cni, registryFolder, canLowerOomScore }: ContainerdSettings) {
  return {
    containerd: { default_runtime_name: 'runc' },
    runc: { runtime_type: 'io.containerd.runc.v2' },
    // The default is shared with other containerd instances; here leftovers remain attributable to this one.
    options: { SystemdCgroup: false, Root: runcRoot(folder) },
    cni: { conf_dir: cni.configFolder, max_conf_num: 1 },
    registry: { config_path: registryFolder },
    streaming: { stream_server_address: '127.0.0.1', stream_server_port: '0' },
    runtime: {
      // In the default directory, `ip netns add` would change mount propagation so that sandboxes cannot be
      // removed.
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
