import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VolumeMount } from '#/api/generated/core/v1.ts'
import type { Mount } from '#/cri/cri.ts'
import { devicesOf, mountsOf } from './mounts.ts'
import { inputOf, type Given } from './test-input.ts'

const environment = new Map([
  ['POD', 'web-0'],
  ['EMPTY', ''],
])

/** Formats a mount as `/host:/inside` with its special flags. */
function notation({ hostPath, containerPath, ...mount }: Mount): string {
  const flags = [
    mount.readonly ? 'ro' : '',
    mount.recursiveReadonly ? 'rro' : '',
    mount.propagation === 'private' ? '' : mount.propagation,
    mount.selinuxRelabel ? 'relabel' : '',
    mount.image ? `image=${mount.image.id}/${mount.image.subPath}` : '',
  ]
  return [`${hostPath}:${containerPath}`, ...flags.filter(flag => flag !== '')].join(' ')
}

async function mounts(given: Given): Promise<readonly string[]> {
  return (await mountsOf(inputOf(given), environment)).map(notation)
}

/** Without the mounts that the kubelet adds. */
async function mounted(mount: Partial<VolumeMount>, volume: object = {}, more: object = {}): Promise<string> {
  const volumeMounts = [{ name: 'v', mountPath: '/in', ...mount }]
  const [first = ''] = await mounts({
    container: { volumeMounts },
    volumes: [{ name: 'v', ...volume }],
    more,
  })
  return first
}

test('volume mounts have the path, mode and propagation of the spec', async () => {
  const handler = { name: '', supportsUserNamespaces: false, supportsRecursiveReadOnlyMounts: true }
  const cases: readonly (readonly [Partial<VolumeMount>, object, object, string])[] = [
    [{}, {}, {}, '/volumes/v:/in'],
    [{ mountPath: 'in' }, {}, {}, '/volumes/v:/in'],
    [{ readOnly: true }, {}, {}, '/volumes/v:/in ro'],
    [{}, { readonly: true }, {}, '/volumes/v:/in ro'],
    [{}, { selinuxRelabel: true }, {}, '/volumes/v:/in relabel'],
    [{ mountPropagation: 'None' }, {}, {}, '/volumes/v:/in'],
    [{ mountPropagation: 'HostToContainer' }, {}, {}, '/volumes/v:/in host-to-container'],
    [{ mountPropagation: 'Bidirectional' }, {}, {}, '/volumes/v:/in bidirectional'],
    [{ subPath: 'a/b' }, {}, {}, '/subpaths/0/a/b:/in'],
    [{ subPathExpr: 'logs/$(POD)' }, {}, {}, '/subpaths/0/logs/web-0:/in'],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, {}, {}, '/volumes/v:/in ro'],
    [{ readOnly: true, recursiveReadOnly: 'IfPossible' }, {}, { handler }, '/volumes/v:/in ro rro'],
    [{ readOnly: true, recursiveReadOnly: 'Enabled' }, {}, { handler }, '/volumes/v:/in ro rro'],
    [{ readOnly: true, recursiveReadOnly: 'Disabled' }, {}, { handler }, '/volumes/v:/in ro'],
    [{ subPath: 'bin' }, { image: { id: 'sha256:9' } }, {}, ':/in ro image=sha256:9/bin'],
  ]
  for (const [mount, volume, more, expected] of cases) {
    assert.equal(await mounted(mount, volume, more), expected, JSON.stringify(mount))
  }
})

test('invalid volume mounts are rejected', async () => {
  const rro =
    'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not'
  const cases: readonly (readonly [Partial<VolumeMount>, object, string])[] = [
    [{ name: 'none' }, {}, 'cannot find volume "none" to mount into container "c"'],
    [{}, { isBlock: true }, 'cannot find volume "v" to mount into container "c"'],
    [{ subPath: '/etc' }, {}, 'error SubPath `/etc` must not be an absolute path'],
    [{ subPath: 'a/../../b' }, {}, "unable to provision SubPath `a/../../b`: must not contain '..'"],
    [{ subPathExpr: '$(POD)/../..' }, {}, "unable to provision SubPath `web-0/../..`: must not contain '..'"],
    [{ subPathExpr: '$(X)/$(EMPTY)/$(A)' }, {}, 'missing value for A, EMPTY, X'],
    [{ subPath: 'broken' }, {}, 'failed to prepare subPath for volumeMount "v" of container "c"'],
    [{ mountPropagation: 'Sideways' }, {}, 'invalid MountPropagation mode: "Sideways"'],
    [{ recursiveReadOnly: 'Enabled' }, {}, `${rro} read-only`],
    [{ readOnly: true, recursiveReadOnly: 'Enabled' }, {}, `${rro} supported by the runtime`],
    [
      { readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' },
      {},
      `${rro} compatible with propagation "HostToContainer"`,
    ],
  ]
  for (const [mount, volume, message] of cases) await assert.rejects(mounted(mount, volume), { message })
})

test('/etc/hosts and the termination message file are mounted last', async () => {
  const hosts = '/node/pods/u-1/etc-hosts:/etc/hosts relabel'
  const words = (attempt: number): string => `/node/pods/u-1/containers/c/${attempt}:/dev/last relabel`
  const container = { terminationMessagePath: '/dev/last' }
  const own = [{ name: 'v', mountPath: '/etc/hosts' }]
  const cases: readonly (readonly [Given, readonly string[]])[] = [
    [{}, [hosts]],
    [{ container }, [hosts, words(0)]],
    [{ container, more: { attempt: 3 } }, [hosts, words(3)]],
    [{ more: { podAddresses: [] } }, []],
    [{ more: { podAddresses: [] }, spec: { hostNetwork: true } }, [hosts]],
    [{ container: { volumeMounts: own }, volumes: [{ name: 'v' }] }, ['/volumes/v:/etc/hosts']],
  ]
  for (const [given, expected] of cases) assert.deepEqual(await mounts(given), expected)
})

test('block volumes are passed as devices', () => {
  const volumes = new Map([
    ['disk', { name: 'disk', hostPath: '/dev/sdb', readonly: false, isBlock: true }],
    ['kept', { name: 'kept', hostPath: '/dev/sdc', readonly: true, isBlock: true }],
    ['folder', { name: 'folder', hostPath: '/f', readonly: false }],
  ])
  const devices = (...volumeDevices: readonly { name: string; devicePath: string }[]): readonly string[] => {
    const found = devicesOf({ name: 'c', volumeDevices }, volumes)
    return found.map(
      ({ hostPath, containerPath, permissions }) => `${hostPath}:${containerPath}:${permissions}`,
    )
  }
  assert.deepEqual(devices({ name: 'disk', devicePath: '/dev/x' }, { name: 'kept', devicePath: '/dev/y' }), [
    '/dev/sdb:/dev/x:mrw',
    '/dev/sdc:/dev/y:r',
  ])
  const missing = (name: string): string => `cannot find volume "${name}" to pass into container "c"`
  assert.throws(() => devices({ name: 'folder', devicePath: '/dev/x' }), { message: missing('folder') })
  assert.throws(() => devices({ name: 'none', devicePath: '/dev/x' }), { message: missing('none') })
  const relative = 'error DevicePath `dev/x` must be an absolute path'
  assert.throws(() => devices({ name: 'disk', devicePath: 'dev/x' }), { message: relative })
})
