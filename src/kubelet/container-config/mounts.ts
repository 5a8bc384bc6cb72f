/** Mounts and devices of a container. */
import { join } from 'node:path'
import type { Container, VolumeMount } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { Device, Mount, RuntimeHandler } from '#/cri/cri.ts'
import type { ContainerInput, ContainerSources, ContainerVolume } from '../container-input.ts'
import { expandVariables } from '../expand-variables.ts'
import { hasHostsFile } from '../pod-hosts-file.ts'
import { hostsFilePath, terminationMessagePath } from '../pod-paths.ts'
import type { Environment } from './environment.ts'

type MountsInput = Pick<
  ContainerInput,
  'pod' | 'container' | 'attempt' | 'podAddresses' | 'volumes' | 'sources' | 'node' | 'handler'
>

/** The spec's mounts in order, then /etc/hosts and the termination message file. */
export async function mountsOf(input: MountsInput, environment: Environment): Promise<readonly Mount[]> {
  const { container, volumes, sources, handler } = input
  const mounts: Mount[] = []
  for (const [index, given] of (container.volumeMounts ?? []).entries()) {
    const volume = volumes.get(given.name)
    if (volume === undefined || volume.isBlock) {
      throw new Error(
        `cannot find volume ${quote(given.name)} to mount into container ${quote(container.name)}`,
      )
    }
    const mount = withSubPath(given, environment)
    mounts.push(
      volume.image === undefined
        ? folderMount(mount, volume, {
            handler,
            hostPath: await hostPathOf(mount, volume, { index, container, sources }),
          })
        : imageMount(mount, volume.image.id, handler),
    )
  }
  return [...mounts, ...ownMounts(input)]
}

/** Block volumes in `volumeDevices`. */
export function devicesOf(
  { volumeDevices = [], name: containerName }: Container,
  volumes: ReadonlyMap<string, ContainerVolume>,
): readonly Device[] {
  return volumeDevices.map(({ name, devicePath }) => {
    if (!devicePath.startsWith('/'))
      throw new Error(`error DevicePath \`${devicePath}\` must be an absolute path`)
    const volume = volumes.get(name)
    if (!volume?.isBlock) {
      throw new Error(`cannot find volume ${quote(name)} to pass into container ${quote(containerName)}`)
    }
    return {
      hostPath: volume.hostPath,
      containerPath: devicePath,
      permissions: volume.readonly ? 'r' : 'mrw',
    }
  })
}

/** The mount with `subPath` or the expanded `subPathExpr`. All referenced variables must have a value. */
function withSubPath(mount: VolumeMount, environment: Environment): VolumeMount {
  const { subPathExpr = '', subPath = '', ...rest } = mount
  const path = subPathExpr === '' ? subPath : expandSubPath(subPathExpr, environment)
  if (path === '') return rest
  if (path.startsWith('/')) throw new Error(`error SubPath \`${path}\` must not be an absolute path`)
  if (path.split('/').includes('..')) {
    throw new Error(`unable to provision SubPath \`${path}\`: must not contain '..'`)
  }
  return { ...rest, subPath: path }
}

function expandSubPath(expression: string, environment: Environment): string {
  const missing = new Set<string>()
  const expanded = expandVariables(expression, name => {
    const value = environment.get(name) ?? ''
    if (value === '') missing.add(name)
    return value
  })
  if (missing.size > 0) throw new Error(`missing value for ${[...missing].sort().join(', ')}`)
  return expanded
}

interface SubPathContext {
  readonly index: number
  readonly container: Container
  readonly sources: ContainerSources
}

async function hostPathOf(
  mount: VolumeMount,
  { hostPath }: ContainerVolume,
  { index, container, sources }: SubPathContext,
): Promise<string> {
  if (mount.subPath === undefined) return hostPath
  try {
    return await sources.subPath(mount, index)
  } catch (error) {
    // The cause is not shown in the status, because it could reveal files of the node.
    const text = `failed to prepare subPath for volumeMount ${quote(mount.name)} of container ${quote(container.name)}`
    throw new Error(text, { cause: error })
  }
}

function folderMount(
  mount: VolumeMount,
  volume: ContainerVolume,
  { handler, hostPath }: { readonly handler: RuntimeHandler | undefined; readonly hostPath: string },
): Mount {
  return {
    hostPath,
    containerPath: containerPathOf(mount),
    readonly: volume.readonly || (mount.readOnly ?? false),
    recursiveReadonly: isRecursivelyReadonly(mount, handler),
    propagation: propagationOf(mount),
    selinuxRelabel: volume.selinuxRelabel ?? false,
  }
}

/** Image volumes are always read-only. */
function imageMount(mount: VolumeMount, id: string, handler: RuntimeHandler | undefined): Mount {
  return {
    hostPath: '',
    containerPath: containerPathOf(mount),
    readonly: true,
    recursiveReadonly: isRecursivelyReadonly(mount, handler),
    propagation: propagationOf(mount),
    selinuxRelabel: false,
    image: { id, subPath: mount.subPath ?? '' },
  }
}

function containerPathOf({ mountPath }: VolumeMount): string {
  return mountPath.startsWith('/') ? mountPath : join('/', mountPath)
}

function propagationOf({ mountPropagation = 'None' }: VolumeMount): Mount['propagation'] {
  switch (mountPropagation) {
    case 'None':
      return 'private'
    case 'HostToContainer':
      return 'host-to-container'
    case 'Bidirectional':
      return 'bidirectional'
    default:
      throw new Error(`invalid MountPropagation mode: ${quote(mountPropagation)}`)
  }
}

function isRecursivelyReadonly(mount: VolumeMount, handler: RuntimeHandler | undefined): boolean {
  const { name, recursiveReadOnly: mode = 'Disabled', mountPropagation = 'None' } = mount
  const refuse = (reason: string): never => {
    throw new Error(`failed to resolve recursive read-only mode: ${reason}`)
  }
  if (mode === 'Disabled') return false
  const wish = `volume ${quote(name)} requested recursive read-only mode, but it is`
  if (!mount.readOnly) return refuse(`${wish} not read-only`)
  if (mountPropagation !== 'None') {
    return refuse(`${wish} not compatible with propagation ${quote(mountPropagation)}`)
  }
  const isSupported = handler?.supportsRecursiveReadOnlyMounts ?? false
  if (mode === 'IfPossible') return isSupported
  if (mode !== 'Enabled') return refuse(`unknown recursive read-only mode ${quote(mode)}`)
  return isSupported || refuse(`${wish} not supported by the runtime`)
}

/** Mounts that the kubelet adds. */
function ownMounts(input: MountsInput): readonly Mount[] {
  const { pod, container, attempt, podAddresses, node } = input
  const { terminationMessagePath: containerPath = '' } = container
  const uid = pod.metadata.uid
  return [
    ...(hasHostsFile(pod, container, podAddresses)
      ? [fileMount(hostsFilePath(node, uid), '/etc/hosts')]
      : []),
    ...(containerPath === ''
      ? []
      : [
          fileMount(
            terminationMessagePath(node, { uid, container: container.name, attempt }),
            join('/', containerPath),
          ),
        ]),
  ]
}

function fileMount(hostPath: string, containerPath: string): Mount {
  return {
    hostPath,
    containerPath,
    readonly: false,
    recursiveReadonly: false,
    propagation: 'private',
    selinuxRelabel: true,
  }
}
