import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerdConfiguration, containerdVersionOf, type ContainerdSettings } from './configuration.ts'

const settings: Omit<ContainerdSettings, 'version'> = {
  folder: '/data',
  socketPath: '/data/containerd.sock',
  cni: { binFolder: '/usr/lib/cni', configFolder: '/data/"cni"' },
  sandboxImage: 'example.com/pause:1',
  registryFolder: '/data/certs.d',
  snapshotter: 'overlayfs',
  canLowerOomScore: true,
}

/** `section: key = value`, one for each line of the file. */
function linesOf(more: Partial<ContainerdSettings> & Pick<ContainerdSettings, 'version'>): string[] {
  let section = ''
  return containerdConfiguration({ ...settings, ...more })
    .split('\n')
    .flatMap(line => {
      if (line.startsWith('[')) section = line.slice(1, -1).replaceAll(/^plugins\.|"/g, '')
      return line === '' || line.startsWith('[') ? [] : [`${section}: ${line}`]
    })
}

const cases: readonly [version: string, expected: readonly string[]][] = [
  [
    '1.6',
    [
      ': version = 2',
      'io.containerd.grpc.v1.cri: sandbox_image = "example.com/pause:1"',
      'io.containerd.grpc.v1.cri: netns_mounts_under_state_dir = true',
      'io.containerd.grpc.v1.cri.containerd: snapshotter = "overlayfs"',
      'io.containerd.grpc.v1.cri.containerd.runtimes.runc.options: SystemdCgroup = false',
      'io.containerd.grpc.v1.cri.containerd.runtimes.runc.options: Root = "/data/runc"',
      'io.containerd.grpc.v1.cri.cni: bin_dir = "/usr/lib/cni"',
      'io.containerd.grpc.v1.cri.registry: config_path = "/data/certs.d"',
    ],
  ],
  [
    '2.0',
    [
      ': version = 3',
      'io.containerd.cri.v1.images: snapshotter = "overlayfs"',
      'io.containerd.cri.v1.images.pinned_images: sandbox = "example.com/pause:1"',
      'io.containerd.cri.v1.runtime: netns_mounts_under_state_dir = true',
      'io.containerd.cri.v1.runtime.cni: bin_dir = "/usr/lib/cni"',
      'io.containerd.grpc.v1.cri: stream_server_port = "0"',
      'io.containerd.nri.v1.nri: disable = true',
    ],
  ],
  ['2.1', ['io.containerd.cri.v1.runtime.cni: bin_dirs = ["/usr/lib/cni"]']],
  ['3.0', ['io.containerd.cri.v1.runtime.cni: bin_dirs = ["/usr/lib/cni"]']],
]

test('the containerd configuration uses the sections of the installed version', () => {
  for (const [text, expected] of cases) {
    const [major = 0, minor = 0] = text.split('.').map(Number)
    const lines = linesOf({ version: { major, minor } })
    for (const line of [...expected, ': root = "/data/root"', 'grpc: address = "/data/containerd.sock"'])
      assert.ok(lines.includes(line), `${text}: ${line}`)
    assert.ok(
      lines.some(line => line.endsWith(String.raw`conf_dir = "/data/\"cni\""`)),
      text,
    )
  }
})

test('OOM scores are lowered only where the kernel permits it', () => {
  for (const major of [1, 2]) {
    for (const canLowerOomScore of [true, false]) {
      const lines = linesOf({ version: { major, minor: 6 }, canLowerOomScore })
      const found = lines.find(line => line.includes('restrict_oom_score_adj')) ?? ''
      assert.match(found, new RegExp(`= ${!canLowerOomScore}$`))
      assert.ok(lines.includes(`: oom_score = ${canLowerOomScore ? -999 : 0}`))
    }
  }
})

test('the containerd version is parsed from its output', () => {
  const versions: readonly [text: string, expected: string | undefined][] = [
    ['containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3', '1.6'],
    ['containerd github.com/containerd/containerd v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da', '1.7'],
    ['containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4e490e9fbdc236c0e811ccaba3376', '2.1'],
    ['containerd containerd.io 2.0.0-rc.3 abc', '2.0'],
    ['something else', undefined],
  ]
  for (const [text, expected] of versions) {
    const found = containerdVersionOf(text)
    assert.equal(found && `${found.major}.${found.minor}`, expected, text)
  }
})
